// Package session is the memory of a conversation: an append-only journal from
// which everything else about it can be derived.
//
// What is about to happen is written before it happens: the model's answer
// before its calls run, a verdict before it counts, a call before it is
// dispatched, its result as soon as it is there. A journal that was cut at any
// byte, by a crash or a full disk, is therefore one that can be resumed: every
// call is known to have run, not to have run, or to have an unknown outcome, and
// the model is told which.
//
//	store := session.Open("")
//	s, err := store.Create(ctx, &session.CreateOptions{Cwd: dir}) // or store.Resume
//	defer s.Close()
//	history := s.Restored().History
//	err = s.Append(ctx, session.Entry{Message: &session.Message{Role: model.User, …}})
//
// The file has one JSON object per line and the layout that the official SDK
// reads; see docs/sessions.md. Nothing in it is ever changed or deleted.
//
// Files are the default. [OpenLogs] keeps sessions in any [Logs] instead: a [Log] is only
// appended to by a writer that knows its end, so that one that was taken for dead is
// refused with [ErrFenced] at its next entry, wherever it runs.
//
// A [Store] and a [Session] are safe for concurrent use. A session has one
// writer: a second process that resumes it is refused. The caller that
// creates or resumes a session closes it.
//
// Trust model: journals and blobs hold whatever was said and whatever files
// held, secrets included; they are kept from other users by mode. A journal is
// read as untrusted text: no content of it can name a file to read, except a
// blob by its digest, which is checked.
package session

// Package session records conversations. Each one is an append-only journal, from
// which everything else about it is derived.
//
// Everything is written before it happens: the model's answer before its calls run, a verdict
// before it takes effect, a call before it is dispatched, its result as soon as it is known.
// So a journal that was cut off at any byte, by a crash or a full disk, can be resumed: each
// call has run, has not run, or has an unknown outcome, and the model is told which.
//
//	store := session.Open("")
//	s, err := store.Create(ctx, &session.CreateOptions{Cwd: dir}) // or store.Resume
//	defer s.Close()
//	history := s.Restored().History
//	err = s.Append(ctx, session.Entry{Message: &session.Message{Role: model.User, …}})
//
// The file has one JSON object per line, in the layout that the official SDK
// reads; see docs/sessions.md. Nothing in it is ever changed or deleted.
//
// Files are the default. [OpenLogs] stores sessions in any [Logs] instead. Only a writer
// that knows the end of a [Log] can append to it, so a writer that was given up for dead
// is refused with [ErrFenced] at its next entry, wherever it runs.
//
// A [Store] and a [Session] are safe for concurrent use. A session has one
// writer: a second process that resumes it is refused. The caller that
// creates or resumes a session closes it.
//
// Trust: journals and blobs contain everything that was said and everything that was
// in files, secrets included; their mode keeps other users from reading them. A
// journal is parsed as untrusted text: nothing in it can name a file to read, except a
// blob by its digest, which is checked.
package session

package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/front/headless/launch"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/wire"
)

// sessionRoutes are those about sessions as a whole, and prompts.
func (s *Server) sessionRoutes() []route {
	return []route{
		answers(http.StatusOK, "GET", "/sessions", "List sessions, most recently used first", s.listSessions,
			parameter{"limit", "maximum number of sessions; defaults to 200"}, parameter{"cwd", "only sessions in this folder"}),
		takes(http.StatusCreated, "POST", "/sessions", "Start a session", s.createSession),
		answers(http.StatusOK, "GET", "/sessions/{id}", "A session", s.getSession),
		takes(http.StatusOK, "PATCH", "/sessions/{id}", "Rename a session, or change its mode, model or effort", s.changeSession),
		answers(http.StatusNoContent, "DELETE", "/sessions/{id}", "Delete a session permanently", s.deleteSession),
		takes(http.StatusCreated, "POST", "/sessions/{id}/fork", "Copy a session", s.forkSession),
		takes(http.StatusAccepted, "POST", "/sessions/{id}/prompts", "Send a prompt; a session that is not running is resumed", s.prompt),
		answers(http.StatusOK, "GET", "/sessions/{id}/prompts/{uuid}", "The outcome of a prompt", s.getOutcome),
		answers(http.StatusNoContent, "DELETE", "/sessions/{id}/prompts/{uuid}", "Cancel a prompt: if it is waiting, it is dropped; if it is running, its turn is stopped", s.cancelPrompt),
		answers(http.StatusNoContent, "POST", "/sessions/{id}/interrupt", "Stop the running turn", s.interrupt),
		answers(http.StatusNoContent, "POST", "/sessions/{id}/tasks/{task}/stop", "Stop a background task", s.stopTask),
		answers(http.StatusNoContent, "POST", "/sessions/{id}/close", "End the process of a session that this server runs; the session can be resumed", s.closeSession),
	}
}

// number reads a number of a request; "" is the usual one.
func number(text string, usual int) (int, error) {
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, invalid("%q is not a number.", text)
	}
	return n, nil
}

// usualList is how many sessions a list has.
const usualList = 200

func (s *Server) listSessions(r *http.Request) (Sessions, error) {
	limit, err := number(r.URL.Query().Get("limit"), usualList)
	if err != nil {
		return Sessions{}, err
	}
	rows, err := s.list.rows(r.Context(), r.URL.Query().Get("cwd"), limit)
	return Sessions{Sessions: rows, All: true}, err
}

// createSession begins a session, with its first prompt if there is one.
func (s *Server) createSession(r *http.Request, in *NewSession) (Session, error) {
	switch {
	case in.Workspace != nil && in.Cwd != "":
		return Session{}, invalid("Give cwd or workspace, not both.")
	case in.Workspace == nil && !filepath.IsAbs(in.Cwd):
		return Session{}, notFolder(in.Cwd)
	case in.Workspace == nil:
		in.Cwd = filepath.Clean(in.Cwd) // as the journal has it
	}
	if err := checkMode(in.Mode); err != nil {
		return Session{}, err
	}
	if in.ID != "" && !uuid(in.ID) {
		return Session{}, invalid("%q is not a UUID.", in.ID)
	}
	if err := checkArgs(in); err != nil {
		return Session{}, err
	}
	// What is opened outlives the request.
	w, err := s.create(context.WithoutCancel(r.Context()), in)
	if err != nil {
		return Session{}, err
	}
	defer w.release()
	if in.Prompt != "" {
		if _, err := s.send(r.Context(), w, &Prompt{UUID: in.UUID, Text: in.Prompt}); err != nil {
			return Session{}, err
		}
	}
	return w.row(), nil
}

func notFolder(path string) error {
	return invalid("%q is not a folder. Give the full path of a folder.", path)
}

// checkArgs refuses flags that a session cannot be given here, and makes each one word.
func checkArgs(in *NewSession) error {
	args, err := launch.Submitted(in.Args, false)
	if err != nil {
		return invalid("%v.", err)
	}
	if in.Args = args; len(args) == 0 {
		return nil
	}
	if _, err := (&submitted{Args: args}).parse("", io.Discard); err != nil {
		return invalid("%v.", err)
	}
	return nil
}

// existing returns the session that a request names, nil if there is none yet.
func (s *Server) existing(in *NewSession) (*watch, error) {
	if in.ID == "" {
		return nil, nil
	}
	w, err := s.watch(in.ID)
	var p *Problem
	if errors.As(err, &p) && p.Code == "no_session" {
		return nil, nil
	}
	return w, err
}

// same refuses a request for a session that exists and works elsewhere, or began in another way:
// what the request asks for would have no effect.
func (s *Server) same(ctx context.Context, w *watch, in *NewSession) error {
	taken := &Problem{status: http.StatusConflict, Code: "id_taken"}
	var began *NewSession
	var cwd string
	if w.creation != nil {
		began = w.creation.given
		cwd = began.place()
	} else {
		var err error
		if began, err = s.back.Began(ctx, w.id); err != nil {
			return err
		}
		cwd = w.row().Cwd
	}
	if cwd != in.place() {
		taken.Message = fmt.Sprintf("The session %s already exists and works in %s.", in.ID, cwd)
		return taken
	}
	if others := began.unlike(in); len(others) > 0 {
		taken.Message = fmt.Sprintf("The session %s already exists and was started with a different value of %s, which this request cannot change. Repeat the original request, or start a new session with another id.", w.id, strings.Join(others, ", "))
		return taken
	}
	return nil
}

// create begins a new session, unless there is the one that is meant.
func (s *Server) create(ctx context.Context, in *NewSession) (*watch, error) {
	if w, err := s.existing(in); w != nil || err != nil {
		return s.created(ctx, w, in, err)
	}
	id := cmp.Or(in.ID, session.NewUUID())
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return nil, errEnded
	}
	if w := s.watches[id]; w != nil { // the same request, a moment ago
		w.mu.Lock()
		w.users++
		w.mu.Unlock()
		s.mu.Unlock()
		return s.created(ctx, w, in, nil)
	}
	given := *in
	given.Prompt = "" // which is not kept for long
	w, err := s.newWatch(id, "")
	if err == nil {
		w.mu.Lock() // it is followed already
		w.users, w.cwd, w.creation = w.users+1, in.place(), &creation{done: make(chan struct{}), given: &given}
		w.mu.Unlock()
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	err = s.back.Create(ctx, id, in)
	w.creation.err = err
	close(w.creation.done)
	if err != nil {
		s.mu.Lock()
		delete(s.watches, id)
		s.mu.Unlock()
		w.stop()
		return nil, err
	}
	return w, nil
}

// A creation is that of a session by the first of several equal requests.
type creation struct {
	given *NewSession
	done  chan struct{}
	err   error // once it is done
}

// created waits until the session is there, for a request that found it, and releases the watch
// if that fails or the request means another session.
func (s *Server) created(ctx context.Context, w *watch, in *NewSession, err error) (*watch, error) {
	if err != nil {
		return nil, err
	}
	if w.creation != nil {
		select {
		case <-w.creation.done:
			err = w.creation.err
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err == nil {
		err = s.same(ctx, w, in)
	}
	if err != nil {
		w.release()
		return nil, err
	}
	return w, nil
}

// checkMode refuses a mode that there is not, and the one that turns permissions off.
func checkMode(mode string) error {
	if _, err := permission.ParseMode(mode); err != nil {
		return invalid("%v.", err)
	}
	if mode == string(permission.Bypass) {
		return mayUpdate(wire.PermissionUpdate{Type: "setMode", Mode: mode})
	}
	return nil
}

func (s *Server) getSession(r *http.Request) (Session, error) {
	w, err := s.watched(r)
	if err != nil {
		return Session{}, err
	}
	defer w.release()
	return w.row(), nil
}

// changeSession renames a session and changes its mode, model and effort.
func (s *Server) changeSession(r *http.Request, in *SessionChange) (Session, error) {
	if err := checkMode(in.Mode); err != nil {
		return Session{}, err
	}
	w, err := s.watched(r)
	if err != nil {
		return Session{}, err
	}
	defer w.release()
	for _, c := range []struct {
		value   string
		request wire.Request
	}{{in.Title, &wire.RenameSession{Title: in.Title}}, {in.Mode, &wire.SetPermissionMode{Mode: in.Mode}}, {in.Model, &wire.SetModel{Model: in.Model}}, {in.Effort, effortRequest(in.Effort)}} {
		if c.value == "" {
			continue
		}
		if err := s.back.Call(r.Context(), w.id, c.request, nil); err != nil {
			return Session{}, err
		}
	}
	_, err = w.read(r.Context())
	return w.row(), err
}

// deleteSession deletes a session for good. One that runs elsewhere stays.
func (s *Server) deleteSession(r *http.Request) (noBody, error) {
	w, err := s.watched(r)
	if err != nil {
		return noBody{}, err
	}
	defer w.release()
	if err := s.back.Delete(r.Context(), w.id); err != nil {
		return noBody{}, err
	}
	s.mu.Lock()
	delete(s.watches, w.id)
	s.mu.Unlock()
	w.stop()
	return noBody{}, nil
}

// closeSession ends the process of a session that this server leads.
func (s *Server) closeSession(r *http.Request) (noBody, error) {
	w, err := s.watched(r)
	if err != nil {
		return noBody{}, err
	}
	defer w.release()
	return noBody{}, s.back.Close(r.Context(), w.id)
}

// forkSession copies a session.
func (s *Server) forkSession(r *http.Request, in *Fork) (Session, error) {
	w, err := s.watched(r)
	if err != nil {
		return Session{}, err
	}
	defer w.release()
	id, err := s.back.Fork(r.Context(), w.id, in.At)
	if err != nil {
		return Session{}, err
	}
	r.SetPathValue("id", id)
	return s.getSession(r)
}

// prompt sends a prompt.
func (s *Server) prompt(r *http.Request, in *Prompt) (Prompted, error) {
	w, err := s.watched(r)
	if err != nil {
		return Prompted{}, err
	}
	defer w.release()
	return s.send(r.Context(), w, in)
}

// send sends a prompt to whoever leads the session.
func (s *Server) send(ctx context.Context, w *watch, in *Prompt) (Prompted, error) {
	content, err := in.content()
	if err != nil {
		return Prompted{}, err
	}
	if in.UUID == "" {
		in.UUID = session.NewUUID()
	}
	if !uuid(in.UUID) {
		return Prompted{}, invalid("%q is not a UUID.", in.UUID)
	}
	if !w.remember(in.UUID) {
		return Prompted{UUID: in.UUID, Duplicate: true}, nil
	}
	duplicate, err := s.back.Prompt(ctx, w.id, &wire.User{UUID: in.UUID, SessionID: w.id, Message: wire.UserMessage{Role: "user", Content: content}})
	if err != nil {
		w.forget(in.UUID)
		return Prompted{}, err
	}
	return Prompted{UUID: in.UUID, Duplicate: duplicate}, nil
}

// getOutcome says what became of a prompt.
func (s *Server) getOutcome(r *http.Request) (Outcome, error) {
	w, err := s.watched(r)
	if err != nil {
		return Outcome{}, err
	}
	defer w.release()
	id := r.PathValue("uuid")
	out, err := s.back.Outcome(r.Context(), w.id, id)
	if err == nil && out.State == OutcomeWaiting {
		w.mu.Lock()
		out.Begun = w.fold.Prompted(id)
		w.mu.Unlock()
	}
	return out, err
}

// cancelPrompt drops a prompt that waits, or stops its turn. Turns of other prompts continue.
func (s *Server) cancelPrompt(r *http.Request) (noBody, error) {
	w, err := s.watched(r)
	if err != nil {
		return noBody{}, err
	}
	defer w.release()
	id := r.PathValue("uuid")
	if out, err := s.back.Outcome(r.Context(), w.id, id); err != nil || out.State != OutcomeWaiting {
		return noBody{}, err
	}
	var reply wire.CancelAsyncMessageReply
	if err := s.back.Call(r.Context(), w.id, &wire.CancelAsyncMessage{MessageUUID: id}, &reply); err != nil || reply.Cancelled {
		return noBody{}, err
	}
	if !reply.Running {
		// It is over, or is about to begin, or its process is one that does not say which turn runs:
		// the journal shows it.
		ctx, cancel := context.WithTimeout(r.Context(), journalTime)
		defer cancel()
		err := w.await(ctx, func() bool { return w.fold.LastPrompt() == id || w.fold.Over(id) })
		if out, known := s.back.Outcome(r.Context(), w.id, id); known != nil || out.State != OutcomeWaiting {
			return noBody{}, known
		}
		if err != nil {
			return noBody{}, &Problem{status: http.StatusConflict, Code: "not_running", Message: "The prompt is waiting for the turn of another prompt and cannot be cancelled now. To cancel both, close the session."}
		}
	}
	// The process that leads the session knows whether another turn has begun meanwhile.
	return noBody{}, s.back.Call(r.Context(), w.id, &wire.Interrupt{MessageUUID: id}, nil)
}

// remember notes the id of a prompt, and reports whether it is new.
func (w *watch) remember(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if slices.Contains(w.prompts, id) || w.fold.Prompted(id) {
		return false
	}
	w.prompts, w.sent = append(w.prompts, id), time.Now()
	if len(w.prompts) > maxRemembered {
		w.prompts = w.prompts[1:]
	}
	return true
}

// forget forgets the id of a prompt that could not be sent.
func (w *watch) forget(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.prompts = slices.DeleteFunc(w.prompts, func(known string) bool { return known == id })
}

// maxRemembered is how many prompts and settled questions are known that the journal may
// not have.
const maxRemembered = 200

// uuid reports whether a text names a message.
func uuid(text string) bool {
	return len(text) == 36 && strings.Count(text, "-") == 4 && strings.Trim(text, "0123456789abcdefABCDEF-") == ""
}

// interrupt stops the turn that runs.
func (s *Server) interrupt(r *http.Request) (noBody, error) { return s.tell(r, &wire.Interrupt{}) }

// stopTask stops a task in the background.
func (s *Server) stopTask(r *http.Request) (noBody, error) {
	return s.tell(r, &wire.StopTask{TaskID: r.PathValue("task")})
}

// tell tells the process that leads a session to do something.
func (s *Server) tell(r *http.Request, request wire.Request) (noBody, error) {
	w, err := s.watched(r)
	if err != nil {
		return noBody{}, err
	}
	defer w.release()
	return noBody{}, s.back.Call(r.Context(), w.id, request, nil)
}

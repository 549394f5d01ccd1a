package attach

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/haftdev/haft/internal/serve"
	"github.com/haftdev/haft/wire"
)

// Submit begins a session, with its prompt if it has one. The session and the prompt must
// have names: a request whose reply was lost is sent again and counts once.
func (s *Server) Submit(ctx context.Context, in *serve.NewSession) (row serve.Session, err error) {
	err = s.insist(ctx, http.MethodPost, "/v1/sessions", in, &row)
	return named(row, err)
}

// Prompt sends a prompt to a session, in the same way.
func (s *Server) Prompt(ctx context.Context, id string, p *serve.Prompt) error {
	return s.insist(ctx, http.MethodPost, sessionPath(id)+"/prompts", p, nil)
}

// Fork copies a session up to a message, "" being the last.
func (s *Server) Fork(ctx context.Context, id, at string) (row serve.Session, err error) {
	err = s.call(ctx, http.MethodPost, sessionPath(id)+"/fork", serve.Fork{At: at}, &row)
	return named(row, err)
}

// Newest returns the session of a folder that was written to last; its id is "" if there is
// none.
func (s *Server) Newest(ctx context.Context, dir string) (serve.Session, error) {
	var list serve.Sessions
	err := s.call(ctx, http.MethodGet, "/v1/sessions?limit=1&cwd="+url.QueryEscape(dir), nil, &list)
	if err != nil || len(list.Sessions) == 0 {
		return serve.Session{}, err
	}
	return named(list.Sessions[0], nil)
}

// Get returns a session.
func (s *Server) Get(ctx context.Context, id string) (row serve.Session, err error) {
	err = s.call(ctx, http.MethodGet, sessionPath(id), nil, &row)
	return named(row, err)
}

// Position is the end of a session's journal.
func (s *Server) Position(ctx context.Context, id string) (string, error) {
	var t serve.Timeline
	err := s.call(ctx, http.MethodGet, sessionPath(id)+"/timeline?limit=0", nil, &t)
	return t.Position, err
}

// Change changes the mode or the model of a session.
func (s *Server) Change(ctx context.Context, id string, c *serve.SessionChange) error {
	return s.call(ctx, http.MethodPatch, sessionPath(id), c, nil)
}

// Outcome says what became of a prompt.
func (s *Server) Outcome(ctx context.Context, id, prompt string) (out serve.Outcome, err error) {
	err = s.call(ctx, http.MethodGet, sessionPath(id)+"/prompts/"+url.PathEscape(prompt), nil, &out)
	return out, err
}

// A Following says which session to follow, from where, and what to call with what happens in it.
type Following struct {
	ID string
	// From is a position in its journal, "" being the beginning.
	From string
	// UpToNow ends it when everything that there is was told.
	UpToNow bool
	// Each gets the messages, and reports whether more should come.
	Each func(wire.Message) bool
	// Questions gets all open questions whenever they change, between two calls of Each: after
	// what was said before they were asked. Nil means nobody wants to know.
	Questions func([]serve.Question)
}

// Follow tells what happens in a session until nobody wants more, ctx ends, the session rests or
// the server is away for long. The error is why it cannot be followed.
func (s *Server) Follow(ctx context.Context, f *Following) error {
	st := s.Open(ctx, serve.Session{ID: f.ID})
	defer st.Close()
	st.last, st.upToNow, st.running, st.told = f.From, f.UpToNow, !f.UpToNow, f.Questions != nil // one that rests ends it
	go st.follow()
	for {
		n, err := st.next()
		switch {
		case err != nil:
			return st.Err()
		case n.message == nil:
			f.Questions(n.questions)
		case !f.Each(n.message):
			return st.Err()
		}
	}
}

// Questions returns those that are open.
func (s *Server) Questions(ctx context.Context, id string) ([]serve.Question, error) {
	var all serve.Questions
	err := s.call(ctx, http.MethodGet, sessionPath(id)+"/questions", nil, &all)
	return all.Questions, err
}

// Answer answers a question.
func (s *Server) Answer(ctx context.Context, id string, a *serve.Answer) error {
	return s.call(ctx, http.MethodPost, sessionPath(id)+"/answers", a, nil)
}

// CancelPrompt drops a prompt that waits, or stops its turn.
func (s *Server) CancelPrompt(ctx context.Context, id, prompt string) error {
	return s.call(ctx, http.MethodDelete, sessionPath(id)+"/prompts/"+url.PathEscape(prompt), nil, nil)
}

// Cancel stops the turn of a session and drops the prompts that wait. It can be continued.
func (s *Server) Cancel(ctx context.Context, id string) error {
	return s.call(ctx, http.MethodPost, sessionPath(id)+"/close", nil, nil)
}

func sessionPath(id string) string { return "/v1/sessions/" + url.PathEscape(id) }

// insist makes a request that counts once however often it is made, again while nobody knows
// what became of it. A server that was not reached at all is not waited for.
func (s *Server) insist(ctx context.Context, method, path string, body, reply any) error {
	end, sent := time.Now().Add(retryTime), false
	for {
		err := s.call(ctx, method, path, body, reply)
		var refusal *serve.Problem
		var op *net.OpError
		if err == nil || errors.As(err, &refusal) && refusal.Code != "ended" || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
		if errors.As(err, &op) && op.Op == "dial" && !sent {
			return err
		}
		sent = true
		select {
		case <-time.After(retryStep):
		case <-ctx.Done():
		}
	}
}

package attach

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/sys/handshake"
	"github.com/haftdev/haft/internal/sys/loopback"
	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// A Server is one that runs elsewhere.
type Server struct {
	// URL is its address, without a path.
	URL   string
	Token string

	patience time.Duration // with one request; 0 means [replyTime]
	client   *http.Client
	once     sync.Once
}

// HTTP is a client for the server, which has to prove itself before anything is sent to it. It
// does not follow redirects, which could lead a request elsewhere.
func (s *Server) HTTP() *http.Client {
	s.once.Do(func() {
		s.client = &http.Client{
			Transport:     &handshake.Transport{Token: s.Token},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	})
	return s.client
}

// An Address is a server, and a session of it; the session is "" if the address names
// none.
type Address struct{ URL, Session string }

// IsAddress reports whether a word is the address of a server and not the id of a session.
func IsAddress(word string) bool {
	return strings.HasPrefix(word, "http://") || strings.HasPrefix(word, "https://")
}

// errToken is the error of an address that has the token in it.
var errToken = errors.New("leave the part after # out of the address: other users of this machine can read command lines")

// Parse reads an address as the page has it, such as http://127.0.0.1:7420/s/ID.
func Parse(word string) (Address, error) {
	u, err := url.Parse(word)
	if err != nil || u.Host == "" {
		return Address{}, fmt.Errorf("%q is not an address such as http://127.0.0.1:7420/s/SESSION", word)
	}
	if strings.Contains(u.Fragment, "token=") || strings.Contains(u.Fragment, "login=") || u.Query().Has("token") || u.User != nil {
		return Address{}, errToken
	}
	id := ""
	if path := strings.Trim(u.Path, "/"); path != "" {
		var ok bool
		if id, ok = strings.CutPrefix(path, "s/"); !ok || strings.Contains(id, "/") {
			return Address{}, fmt.Errorf("%q does not name a session: addresses of sessions end in /s/SESSION", word)
		}
	}
	return Address{URL: u.Scheme + "://" + u.Host, Session: id}, nil
}

// Private reports whether nobody on the way can read what is sent to the address.
func (a Address) Private() bool {
	u, err := url.Parse(a.URL)
	if err != nil {
		return false
	}
	return u.Scheme == "https" || loopback.Host(u.Hostname())
}

// Find returns the session that an id, or the beginning of one, names; without one, the
// only session that runs.
func (s *Server) Find(ctx context.Context, id string) (serve.Session, error) {
	var list serve.Sessions
	if err := s.call(ctx, http.MethodGet, "/v1/sessions?limit=10000", nil, &list); err != nil {
		return serve.Session{}, err
	}
	var found []serve.Session
	for _, row := range list.Sessions {
		if isID(row.ID) && (id == "" && row.Running || id != "" && strings.HasPrefix(row.ID, id)) {
			found = append(found, row)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0 && id == "":
		return serve.Session{}, fmt.Errorf("no session is running at %s. Name one to resume: %s/s/SESSION", s.URL, s.URL)
	case len(found) == 0:
		return serve.Session{}, fmt.Errorf("there is no session %q at %s", id, s.URL)
	}
	names := []string{}
	for _, row := range found[:min(len(found), 10)] {
		names = append(names, fmt.Sprintf("%s/s/%s", s.URL, row.ID))
	}
	return serve.Session{}, fmt.Errorf("%d sessions match. Name one of them:\n  %s", len(found), strings.Join(names, "\n  "))
}

// isID reports whether a server's id of a session can be shown to the user, even as a part of a
// command to copy.
func isID(id string) bool { return idPattern.MatchString(id) }

var idPattern = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)

// named refuses a session whose id is none.
func named(row serve.Session, err error) (serve.Session, error) {
	if err == nil && !isID(row.ID) {
		return serve.Session{}, fmt.Errorf("the server returned %.80q, which is not a session id. Is it haft serve?", row.ID)
	}
	return row, err
}

// request makes a request.
func (s *Server) request(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var in io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		in = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, method, s.URL+path, in)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", serve.TerminalAgent)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return s.HTTP().Do(r)
}

// call makes a request and reads its reply. The error is a *serve.Problem if the server
// refuses it.
func (s *Server) call(ctx context.Context, method, path string, body, reply any) error {
	patience := cmp.Or(s.patience, replyTime)
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it took longer than %v", patience))
	defer cancel()
	resp, err := s.request(ctx, method, path, body)
	if err == nil {
		defer resp.Body.Close()
		if err := refused(resp); err != nil || reply == nil {
			return err
		}
		err = json.NewDecoder(io.LimitReader(resp.Body, maxReply)).Decode(reply)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return Unreachable(s.URL, context.Cause(ctx))
	case err != nil && resp != nil:
		return fmt.Errorf("could not read the answer from %s: %w. Is it haft serve?", s.URL, err)
	case err != nil:
		return Unreachable(s.URL, err)
	}
	return nil
}

// Open returns the stream of a session.
func (s *Server) Open(ctx context.Context, row serve.Session) *Stream {
	st := &Stream{server: s, row: row, news: make(chan news, 64), asked: map[string]*asked{}}
	st.ctx, st.stop = context.WithCancel(ctx)
	return st
}

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

// How much of a reply is read, and how long one may take.
const (
	maxReply  = 64 << 20
	replyTime = 2 * time.Minute
)

// Unreachable says that there is no server, without the chain of what tried to reach it.
func Unreachable(server string, err error) error {
	var unproved *handshake.UnprovedError
	if errors.As(err, &unproved) {
		return unproved
	}
	text := err
	var op *net.OpError
	if errors.As(err, &op) {
		text = op.Err
	}
	return &unreachableError{fmt.Sprintf("no answer from %s: %v", server, text), err}
}

// An unreachableError has the cause that it does not show.
type unreachableError struct {
	text  string
	cause error
}

func (e *unreachableError) Error() string { return e.text }
func (e *unreachableError) Unwrap() error { return e.cause }

// refused is why the server did not do it, nil if it did.
func refused(resp *http.Response) error {
	if resp.StatusCode/100 == 2 {
		return nil
	}
	p := &serve.Problem{}
	if json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(p) != nil || p.Message == "" {
		return fmt.Errorf("the server answered %s. Is it haft serve?", resp.Status)
	}
	return p
}

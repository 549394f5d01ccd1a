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

	"github.com/haftdev/haft/internal/handshake"
	"github.com/haftdev/haft/internal/lazyregexp"
	"github.com/haftdev/haft/internal/serve"
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
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
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

package serve

import (
	"cmp"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/sys/handshake"
)

// Logins are the codes by which browsers on this machine get a credential of their own. A code
// is part of the address that is printed or opened, and works once, so that what a browser keeps
// of that address opens nothing. A file has the hashes: 'haft serve' makes codes for a server
// that runs already.
type Logins struct{ file privateFile[loginFile] }

type loginFile struct {
	Codes []loginCode `json:"codes"`
}

type loginCode struct {
	Hash    string    `json:"hash"`
	Expires time.Time `json:"expires"`
}

const (
	loginTime = 10 * time.Minute // that a code can be used
	maxLogins = 20               // codes at a time
	maxPages  = 200              // browsers that are logged in at a time
)

// New returns a code. It is as long as a token: unlike a pairing code, nobody has to type it.
func (l *Logins) New() (code string, err error) {
	code = rand.Text()
	err = l.file.change(func(f *loginFile) error {
		f.Codes = append(f.Codes, loginCode{hashed(code), time.Now().Add(loginTime)})
		f.Codes = f.Codes[max(0, len(f.Codes)-maxLogins):]
		return nil
	})
	return code, err
}

// use uses a code up.
func (l *Logins) use(code string) error {
	return l.file.change(func(f *loginFile) error {
		f.Codes = slices.DeleteFunc(f.Codes, func(c loginCode) bool { return time.Now().After(c.Expires) })
		n := slices.IndexFunc(f.Codes, func(c loginCode) bool { return same(hashed(code), c.Hash) })
		if n < 0 {
			return errWrongCode
		}
		f.Codes = slices.Delete(f.Codes, n, n+1)
		return nil
	})
}

// pages are the credentials of browsers that are logged in. They are in memory only, so that they
// end with the process.
type pages struct {
	mu     sync.Mutex
	hashes []string // the oldest first
}

func (p *pages) add() (token string) {
	token = rand.Text()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hashes = append(p.hashes, hashed(token))
	p.hashes = p.hashes[max(0, len(p.hashes)-maxPages):]
	return token
}

func (p *pages) has(token string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return token != "" && slices.Contains(p.hashes, hashed(token))
}

// open are the operations for clients that have no credential yet.
var open = []string{"/v1/login", "/v1/pair", handshake.Path}

// loginRoutes are those by which a client becomes known.
func (s *Server) loginRoutes() []route {
	return []route{
		takes(http.StatusOK, "POST", "/login", "Exchange a login code for a token for this browser, which ends with the server", s.login),
		takes(http.StatusOK, "POST", "/pair", "Exchange a pairing code for a token for this device", s.pair),
		answers(http.StatusCreated, "POST", "/logins", "Create a login code, which works once, within ten minutes", s.makeLogin),
		answers(http.StatusOK, "GET", strings.TrimPrefix(handshake.Path, "/v1"), "Prove that this server knows the token, before a client sends anything", s.hello, parameter{"nonce", "26 random characters"}),
	}
}

var errNoLogins = &Problem{status: http.StatusNotFound, Code: "no_login", Message: "This server has no login codes. Send the token in the header Authorization: Bearer."}

// makeLogin makes a code for another browser.
func (s *Server) makeLogin(*http.Request) (Code, error) {
	if s.opts.Logins == nil {
		return Code{}, errNoLogins
	}
	code, err := s.opts.Logins.New()
	return Code{code}, err
}

// login lets a browser in that has a code.
func (s *Server) login(r *http.Request, in *Code) (Credential, error) {
	if s.opts.Logins == nil {
		return Credential{}, errNoLogins
	}
	err := s.try(r, "The login code was already used, has expired, or belongs to an earlier run of the server. Run 'haft serve' on the machine where the server runs, and open the address that it prints.", func() error { return s.opts.Logins.use(in.Code) })
	if err != nil {
		return Credential{}, err
	}
	return Credential{s.pages.add()}, nil
}

// pair makes a device known that has the code.
func (s *Server) pair(r *http.Request, in *Code) (c Credential, err error) {
	if s.opts.Devices == nil {
		return c, errNoDevices
	}
	err = s.try(r, "The code is wrong, was already used, or is older than a minute. Create another one.", func() (err error) {
		c.Token, err = s.opts.Devices.exchange(in.Code, cmp.Or(deviceName(r.UserAgent()), "Another device"))
		return err
	})
	return c, err
}

// try uses a code, unless the client has guessed too often.
func (s *Server) try(r *http.Request, wrong string, use func() error) error {
	from, _, _ := net.SplitHostPort(r.RemoteAddr) // without one, all share a limit
	if !s.codes.allowed(from, time.Now()) {
		return &Problem{status: http.StatusTooManyRequests, Code: "too_many_tries", Message: "Too many wrong codes. Wait a minute and try again."}
	}
	err := use()
	if errors.Is(err, errWrongCode) {
		s.codes.failed(from, time.Now())
		return &Problem{status: http.StatusUnauthorized, Code: "wrong_code", Message: wrong}
	}
	return err
}

// hello proves that the server knows the token.
func (s *Server) hello(r *http.Request) (handshake.Hello, error) {
	h, err := s.shake.Hello(r)
	if err != nil {
		return h, invalid("%v", err)
	}
	return h, nil
}

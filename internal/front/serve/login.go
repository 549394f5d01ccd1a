package serve

import (
	"crypto/rand"
	"net/http"
	"slices"
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

var errNoLogins = &Problem{status: http.StatusNotFound, Code: "no_login", Message: "This server has no login codes. Send the token in the header Authorization: Bearer."}

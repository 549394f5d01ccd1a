package serve

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// policy lets the page load what this server has and nothing else. No script or style can
// stand in a document, so text that becomes markup by mistake does nothing.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// opensPage reports whether a browser is led to the page, as by the file that --open
// writes or by a link. The page itself has no secrets, it cannot be framed, and what it
// asks for then comes from its own origin.
func opensPage(r *http.Request) bool {
	return r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/v1/") && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// credential is the token that a request has, "" if it has none. The page has a header of its
// own: Authorization may be for a proxy in front of the server.
func credential(r *http.Request) string {
	if token := r.Header.Get("Haft-Token"); token != "" {
		return token
	}
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return token
	}
	return ""
}

func same(a, b string) bool { return b != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// A limiter slows down who guesses tokens.
type limiter struct {
	mu    sync.Mutex
	wrong map[string][]time.Time // by address
}

// How many wrong tokens an address may send per minute, and how many addresses are
// remembered.
const (
	maxTries     = 10
	triesTime    = time.Minute
	maxAddresses = 1000
)

func (l *limiter) allowed(from string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := slices.DeleteFunc(l.wrong[from], func(at time.Time) bool { return now.Sub(at) > triesTime })
	if len(list) == 0 {
		delete(l.wrong, from)
		return true
	}
	l.wrong[from] = list
	return len(list) < maxTries
}

func (l *limiter) failed(from string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wrong == nil || len(l.wrong) > maxAddresses {
		l.wrong = map[string][]time.Time{}
	}
	l.wrong[from] = append(l.wrong[from], now)
}

// How large a body may be: one with images, and any other.
const (
	maxBody      = 1 << 20
	maxImageBody = 32 << 20
)

// How long the body of a request may take: of one whose sender is not known yet, and of others.
const (
	strangerTime = 5 * time.Second
	bodyTime     = 2 * time.Minute
)

// limitBody limits how long the body of a request may take. [read] lifts the limit, which would
// end a request that is worked on.
func limitBody(w http.ResponseWriter, r *http.Request, d time.Duration) {
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(d)) // what has no deadline is no connection
	}
}

// turnAway refuses a client that is not known, and does not wait for the rest of what it sends.
func turnAway(w http.ResponseWriter, p *Problem) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	w.Header().Set("Connection", "close")
	refuse(w, p)
}

// read reads a body, which must be JSON: forms and texts are what other sites can send.
func read(w http.ResponseWriter, r *http.Request, into any, limit int64) *Problem {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return &Problem{status: http.StatusUnsupportedMediaType, Code: "not_json", Message: "The body must be JSON: send Content-Type: application/json."}
	}
	in := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit))
	err = in.Decode(into)
	if err == nil && in.More() {
		err = errors.New("there is more than one value")
	}
	if err != nil {
		var long *http.MaxBytesError
		if errors.As(err, &long) {
			return &Problem{status: http.StatusRequestEntityTooLarge, Code: "too_large", Message: fmt.Sprintf("The body is longer than %d MB.", limit>>20)}
		}
		return invalid("The body cannot be read: %v", err)
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return nil
}

func invalid(format string, args ...any) *Problem {
	return &Problem{status: http.StatusBadRequest, Code: "invalid", Message: fmt.Sprintf(format, args...)}
}

// refuse answers with a problem.
func refuse(w http.ResponseWriter, p *Problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.status)
	_ = writeJSON(w, p) // who asked may be gone
}

package serve

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// policy lets the page load what this server has and nothing else. No script or style can
// stand in a document, so text that becomes markup by mistake does nothing.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// foreign refuses what another site's page has a browser send, whatever the method: under
// a name that is not this server's (DNS rebinding), or from another origin.
func (s *Server) foreign(r *http.Request) *Problem {
	scheme, known := s.hosts[strings.ToLower(r.Host)]
	if !known {
		return &Problem{status: http.StatusMisdirectedRequest, Code: "wrong_host", Message: fmt.Sprintf("This server is not called %q. Use the address that it printed, or allow the name with --host.", r.Host)}
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" && !opensPage(r) {
		return &Problem{status: http.StatusForbidden, Code: "cross_site", Message: "This request came from another site. Open the address that haft serve printed."}
	}
	if origin := r.Header.Get("Origin"); origin != "" && !strings.EqualFold(origin, scheme+r.Host) {
		return &Problem{status: http.StatusForbidden, Code: "cross_site", Message: fmt.Sprintf("This request came from a page on %q. Open the address that haft serve printed.", origin)}
	}
	return nil
}

// opensPage reports whether a browser is led to the page, as by the file that --open
// writes or by a link. The page itself has no secrets, it cannot be framed, and what it
// asks for then comes from its own origin.
func opensPage(r *http.Request) bool {
	return r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/v1/") && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// known returns the request of who knows the token, or of a paired device, which is then in
// its context. Others are refused.
func (s *Server) known(r *http.Request) (*http.Request, *Problem) {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return r, s.checkToken(r, token)
	}
	cookie := s.cookieOf(r)
	if same(cookie, s.cookie) {
		return r, nil
	}
	if s.opts.Devices != nil && cookie != "" {
		if d, ok := s.opts.Devices.of(cookie); ok {
			return r.WithContext(context.WithValue(r.Context(), deviceKey{}, &d)), nil
		}
	}
	return r, &Problem{status: http.StatusUnauthorized, Code: "no_token", Message: "The token is missing. Open the address that haft serve printed, or send the token in the header Authorization: Bearer."}
}

// checkToken refuses a token that is not the right one, and says who has guessed too often.
// The right one always passes: behind a tunnel, who guesses has the address of the user.
func (s *Server) checkToken(r *http.Request, token string) *Problem {
	if same(token, s.opts.Token) {
		return nil
	}
	from, _, _ := net.SplitHostPort(r.RemoteAddr) // without one, all share a limit
	if !s.tries.allowed(from, time.Now()) {
		return &Problem{status: http.StatusTooManyRequests, Code: "too_many_tries", Message: "Too many wrong tokens. Wait a minute and try again."}
	}
	s.tries.failed(from, time.Now())
	return &Problem{status: http.StatusUnauthorized, Code: "wrong_token", Message: "The token is wrong. Use the latest one that haft serve printed."}
}

func same(a, b string) bool { return b != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// cookieName has the port in it: all servers of a host share its cookies.
func (s *Server) cookieName() string { return "haft-" + s.port }

// cookieOf is the value of the cookie of a request, "" if it has none.
func (s *Server) cookieOf(r *http.Request) string {
	c, err := r.Cookie(s.cookieName())
	if err != nil {
		return ""
	}
	return c.Value
}

// setCookie gives a browser what it is known by. Scripts cannot read it.
func (s *Server) setCookie(w http.ResponseWriter, r *http.Request, value string) {
	http.SetCookie(w, &http.Cookie{
		Name: s.cookieName(), Value: value, Path: "/", MaxAge: int(deviceTime.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.hosts[strings.ToLower(r.Host)] == "https://",
	})
}

// A limiter slows down who guesses tokens.
type limiter struct {
	mu    sync.Mutex
	wrong map[string][]time.Time // by address
}

// How many wrong tokens an address may send in a while, and how many addresses are
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

package oauth

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// A Loopback is a [UserAgent] that waits on this machine for the browser to come
// back. It must be closed.
type Loopback struct {
	show     func(page string)
	paste    io.Reader
	listener net.Listener
	server   *http.Server
	back     chan string

	mu    sync.Mutex
	state string // that is waited for; "" if nothing is
}

// NewLoopback listens on a port of the loopback address, 0 meaning any. Show tells
// the user, or a browser, which page to visit. Where the browser is on another
// machine the user can paste the address it ended up at; nil means that nothing
// can be pasted.
func NewLoopback(port int, show func(page string), paste io.Reader) (*Loopback, error) {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, fmt.Errorf("cannot wait for the browser: %w", err)
	}
	l := &Loopback{show: show, paste: paste, listener: listener, back: make(chan string, 1)}
	l.server = &http.Server{Handler: http.HandlerFunc(l.serve), ReadHeaderTimeout: 10 * time.Second}
	go l.server.Serve(listener)
	return l, nil
}

// RedirectURL is where the browser is sent back to.
func (l *Loopback) RedirectURL() string { return "http://" + l.listener.Addr().String() + "/callback" }

// Close stops listening.
func (l *Loopback) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return l.server.Shutdown(ctx) // the last page may still be on its way
}

// Visit shows the page and waits.
func (l *Loopback) Visit(ctx context.Context, page string) (string, error) {
	u, err := url.Parse(page)
	if err != nil {
		return "", err
	}
	state := u.Query().Get("state")
	l.expect(state)
	defer l.expect("")
	l.show(page)
	pasted := make(chan string)
	if l.paste != nil {
		go l.readPasted(ctx, state, pasted)
	}
	select {
	case back := <-l.back:
		return back, nil
	case back := <-pasted:
		return back, nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return "", errors.New("the login page was not completed in time")
		}
		return "", ctx.Err()
	}
}

func (l *Loopback) expect(state string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = state
}

// expected reports whether state is the one that is waited for.
func (l *Loopback) expected(state string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state != "" && l.state == state
}

// readPasted looks for the address among what the user types. The read cannot
// be ended, so it may outlive the visit.
func (l *Loopback) readPasted(ctx context.Context, state string, pasted chan<- string) {
	lines := bufio.NewScanner(l.paste)
	for lines.Scan() {
		u, err := url.Parse(strings.TrimSpace(lines.Text()))
		if err != nil || u.Query().Get("state") != state {
			continue
		}
		select {
		case pasted <- u.String():
		case <-ctx.Done():
		}
		return
	}
}

// serve answers the browser. What does not bear the state that is waited for is
// another program's: any page can make a browser ask here.
func (l *Loopback) serve(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if r.URL.Path != "/callback" || !l.expected(q.Get("state")) {
		http.Error(w, "haft is not waiting for this login.", http.StatusBadRequest)
		return
	}
	text := "You are logged in. You can close this window."
	if code := q.Get("error"); code != "" {
		text = "Could not log in: " + printable(code+" "+q.Get("error_description"))
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	w.Header().Set("Referrer-Policy", "no-referrer")
	fmt.Fprintf(w, "<!doctype html><title>haft</title><p>%s</p>\n", html.EscapeString(text))
	select {
	case l.back <- "http://" + l.listener.Addr().String() + r.URL.RequestURI():
	default: // the browser asked twice
	}
}

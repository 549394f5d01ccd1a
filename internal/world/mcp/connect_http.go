package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/world/mcp/gate"
	"github.com/haftdev/haft/internal/world/mcp/httpgate"
)

// A statusError is an HTTP refusal of a connection.
type statusError struct {
	code   int
	reason string
	err    error
}

func (e *statusError) Error() string {
	return fmt.Sprintf("HTTP %d %s: %s", e.code, http.StatusText(e.code), e.reason)
}

func (e *statusError) Unwrap() error {
	if e.code == http.StatusUnauthorized {
		return ErrNeedsAuth
	}
	return e.err
}

// connectHTTP tries the streamable transport and, where the server refuses it,
// the older one.
func (p *peer) connectHTTP(ctx context.Context) (*session, error) {
	// Asking costs little here, and the server may be another one by now.
	s, err := p.dial(ctx, false, "", p.host.opts.ProbeTimeout)
	if err != nil && s != nil && s.link.(*httpLink).transport.Silent() && ctx.Err() == nil {
		p.step("the server may have been slow to report its protocol version; asking again")
		s.close()
		s, err = p.dial(ctx, false, "", p.startTimeout())
	}
	var refused *statusError
	if err == nil || !errors.As(err, &refused) || refused.code < 400 || refused.code >= 500 || ctx.Err() != nil ||
		refused.code == http.StatusUnauthorized || refused.code == http.StatusForbidden {
		return s, err
	}
	p.step("streamable HTTP: %v; trying the older transport", err)
	s.close()
	older, olderErr := p.connectSSE(ctx)
	if olderErr == nil {
		return older, nil
	}
	p.step("SSE: %v", olderErr)
	if older != nil {
		older.close()
	}
	return s, err
}

func (p *peer) connectSSE(ctx context.Context) (*session, error) {
	return p.dial(ctx, true, legacyProtocol, p.host.opts.ProbeTimeout)
}

// dial connects over HTTP.
func (p *peer) dial(ctx context.Context, older bool, protocol string, patience time.Duration) (*session, error) {
	l, g, err := p.newHTTPLink(older, patience)
	if err != nil {
		return nil, err
	}
	s := newSession(p, l, g)
	l.transport.OnLost = s.lose
	if err = s.open(ctx, protocol); err != nil {
		err = l.refusal(err)
		p.step("no session: %v", err)
		return s, err
	}
	p.opened(s)
	return s, nil
}

// refusal is what kept a session from being opened: first that a login is missing, then
// what the server said last, then what the library makes of it.
func (l *httpLink) refusal(err error) error {
	locked := l.transport.Locked()
	if unauthorized := (*httpgate.Unauthorized)(nil); errors.As(locked, &unauthorized) {
		return &statusError{http.StatusUnauthorized, unauthorized.Reason, err}
	}
	if errors.Is(locked, ErrNeedsAuth) {
		return locked
	}
	if status, reason := l.transport.Refusal(); status >= 400 {
		return &statusError{status, reason, err}
	}
	var failed *url.Error
	if errors.As(err, &failed) && !errors.Is(err, ErrNeedsAuth) { // without the names of what was about to be sent
		return &reachError{failed}
	}
	return err
}

// A reachError says that nothing could be sent to a server.
type reachError struct{ err *url.Error }

func (e *reachError) Error() string {
	cause := e.err.Err
	var system syscall.Errno
	if errors.As(cause, &system) {
		cause = system
	}
	return fmt.Sprintf("could not connect to %s: %v", bareAddress(e.err.URL), cause)
}

// bareAddress is an address without its query and user, which may be passwords: errors are shown
// to models and other programs, and are logged.
func bareAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the server's address"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

func (e *reachError) Unwrap() error { return e.err }

// An httpLink is the link to a server that is reached by HTTP.
type httpLink struct {
	transport *httpgate.Transport
	connect   func(context.Context) (sdk.Connection, error)
	ctx       context.Context
	cancel    context.CancelFunc

	mu     sync.Mutex
	conn   sdk.Connection // nil before it is there
	closed bool
}

func (p *peer) newHTTPLink(older bool, patience time.Duration) (*httpLink, *gate.Gate, error) {
	u, err := url.Parse(p.cfg.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, nil, fmt.Errorf("%q is not the URL of a server", p.cfg.URL)
	}
	opts := &p.host.opts
	base := httpgate.Patience(opts.HTTP, patience)
	if opts.Auth != nil {
		if base, err = opts.Auth.Transport(p.cfg, base); err != nil {
			return nil, nil, err
		}
	}
	g := p.newGate()
	t := &httpgate.Transport{
		Base: base, Gate: g, Host: u.Host, Max: opts.MaxMessage, Older: older,
		Headers: p.headers(),
	}
	l := &httpLink{transport: t}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	client := &http.Client{Transport: t, CheckRedirect: sameHost(u.Host)}
	if older {
		l.connect = (&sdk.SSEClientTransport{Endpoint: p.cfg.URL, HTTPClient: client, MaxEventSize: -1}).Connect
	} else {
		l.connect = (&sdk.StreamableClientTransport{Endpoint: p.cfg.URL, HTTPClient: client, MaxEventSize: -1}).Connect
	}
	return l, g, nil
}

// sameHost keeps a server's messages from being sent on to another.
func sameHost(host string) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		if !strings.EqualFold(req.URL.Host, host) {
			return fmt.Errorf("the server redirects to %s, which is another host", req.URL.Host)
		}
		if len(via) > 5 {
			return errors.New("the server redirects too often")
		}
		return nil
	}
}

// Connect is for the library. Its context ends with the attempt; the
// connection's must not.
func (l *httpLink) Connect(context.Context) (sdk.Connection, error) {
	conn, err := l.connect(l.ctx)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed { // while it was on its way
		return nil, errors.Join(context.Canceled, conn.Close())
	}
	l.conn = conn
	return conn, nil
}

func (l *httpLink) Close() error {
	defer l.cancel()
	l.mu.Lock()
	conn := l.conn
	l.closed = true
	l.mu.Unlock()
	if conn != nil {
		return conn.Close()
	}
	return nil
}

func (l *httpLink) Stderr() []string { return nil }
func (l *httpLink) PID() int         { return 0 }

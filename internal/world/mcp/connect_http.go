package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"syscall"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

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

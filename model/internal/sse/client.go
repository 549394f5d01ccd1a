package sse

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/openfiles"
)

// Client returns the HTTP client of this process for long streams: it keeps
// connections for the next turn, of whichever conversation, goes through the proxy that
// the environment names, and sets no limit to how long an answer takes, which is the
// watchdog's business. It is one for all, so that a conversation that has ended leaves
// nothing open; what is idle is bounded.
var Client = sync.OnceValue(newClient)

func newClient() *http.Client {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{CheckRedirect: stay, Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         gathering(dialer),
		ForceAttemptHTTP2:   true,
		DisableCompression:  true, // what compresses a stream holds it back
		MaxIdleConns:        maxIdle,
		MaxIdleConnsPerHost: maxIdle,
		MaxConnsPerHost:     connections(),
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 15 * time.Second,
	}}
}

// gathering dials connections that send the pieces of a [Body] as they are. Without it every
// request of some length is copied through a new buffer of 32 KB.
func gathering(dialer *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok {
			return gatherConn{tcp}, err
		}
		return conn, err
	}
}

type gatherConn struct{ *net.TCPConn }

// ReadFrom is what net/http sends a request with, but for its beginning.
func (c gatherConn) ReadFrom(r io.Reader) (int64, error) {
	if limited, ok := r.(*io.LimitedReader); ok {
		if body, ok := limited.R.(*bodyReader); ok {
			n, err := body.sendTo(c.TCPConn, limited.N)
			limited.N -= n
			return n, err
		}
	}
	return c.TCPConn.ReadFrom(r)
}

// maxIdle bounds the connections that nobody uses.
const maxIdle = 64

// connections is how many there may be to one server: a quarter of the files that this
// process may open, so that conversations which wait for a connection do not take the
// files of those that have one.
func connections() int {
	return max(openfiles.Limit()/4, 8)
}

// stay keeps the client from taking keys and conversations elsewhere.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

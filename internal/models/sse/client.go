package sse

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/sys/openfiles"
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
			return &gatherConn{TCPConn: tcp}, err
		}
		return conn, err
	}
}

// A gatherConn sends the head of a request together with the first pieces of its body: net/http writes the head first, and a
// server would be woken for it alone. One request at a time writes to it.
type gatherConn struct {
	*net.TCPConn
	head []byte // of a request, if its body follows
}

// Write keeps the head of a request with a body for ReadFrom, which net/http calls next. Over TLS it gets records, and keeps none.
func (c *gatherConn) Write(p []byte) (int, error) {
	if c.head == nil && isHead(p) {
		c.head = bytes.Clone(p)
		return len(p), nil
	}
	if err := c.sendHead(); err != nil {
		return 0, err
	}
	return c.TCPConn.Write(p)
}

// isHead reports whether p is the head of a request, and nothing else, whose body is sent without waiting for an answer.
func isHead(p []byte) bool {
	has := func(field string) bool { return bytes.Contains(p, []byte("\r\n"+field)) }
	return bytes.HasPrefix(p, []byte("POST ")) && bytes.Index(p, []byte("\r\n\r\n")) == len(p)-4 &&
		has("Content-Length: ") && !has("Content-Length: 0\r\n") && !has("Expect: ")
}

// sendHead sends what was kept.
func (c *gatherConn) sendHead() error {
	head := c.head
	c.head = nil
	if head == nil {
		return nil
	}
	_, err := c.TCPConn.Write(head)
	return err
}

// ReadFrom is what net/http sends the body of a request with.
func (c *gatherConn) ReadFrom(r io.Reader) (int64, error) {
	if limited, ok := r.(*io.LimitedReader); ok {
		if body, ok := limited.R.(*bodyReader); ok {
			head := c.head
			c.head = nil
			n, err := body.sendTo(c.TCPConn, head, limited.N)
			limited.N -= n
			return n, err
		}
	}
	if err := c.sendHead(); err != nil {
		return 0, err
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

package serve_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/front/live"
	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/front/serve/servetest"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/wire"
)

// A stuckListener accepts connections; the one that is told to gets stuck in a write once
// it has written much, as if its client did not read.
type stuckListener struct {
	net.Listener
	next  atomic.Bool   // the next connection is to get stuck
	stuck chan struct{} // is closed when it is
	end   chan struct{}
}

func (l *stuckListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil && l.next.CompareAndSwap(true, false) {
		conn = &stuckConn{Conn: conn, l: l}
	}
	return conn, err
}

type stuckConn struct {
	net.Conn
	l       *stuckListener
	written int
	once    sync.Once
}

func (c *stuckConn) Write(b []byte) (int, error) {
	if c.written += len(b); c.written > 128<<10 {
		c.once.Do(func() { close(c.l.stuck) })
		<-c.l.end
	}
	return c.Conn.Write(b)
}

// A client that does not read the question that is open holds up nobody else, and not the
// turn.
func TestAStuckClientHoldsUpNoTurn(t *testing.T) {
	servetest.Home(t)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &stuckListener{Listener: inner, stuck: make(chan struct{}), end: make(chan struct{})}
	dir := t.TempDir()
	target := filepath.Join(dir, "a.txt")
	o := siteOptions(t, servetest.Scripted(t, servetest.Writes(target, strings.Repeat("a long line\n", 50_000)), servetest.Says("Written.")))
	o.Patience = 10 * time.Minute
	s := runSite(t, l, o)
	free := sync.OnceFunc(func() { close(l.end) })
	t.Cleanup(free)
	s.dir = dir
	path := "/v1/sessions/" + s.create("write").ID
	var open serve.Questions
	until(t, "the question", func() bool { s.must("GET", path+"/questions", nil, &open); return len(open.Questions) == 1 })
	q := open.Questions[0]
	var view serve.Timeline
	s.must("GET", path+"/timeline", nil, &view)
	f := s.feed(path+"/events", view.Position) // not before: the pieces of a long call may be too much for it
	l.next.Store(true)
	conn, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s/events?after=%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", path, url.QueryEscape(view.Position), inner.Addr(), token)
	await(t, "the client to be stuck", l.stuck)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.do("GET", path+"/questions", nil)
		s.do("POST", path+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: servetest.Allow()})
	}()
	await(t, "the answer beside a stuck client", done)
	f.Message("result", "Written.")
	if _, err := os.Stat(target); err != nil {
		t.Error(err)
	}
}

// await waits for a sign.
func await(t testing.TB, what string, sign <-chan struct{}) {
	t.Helper()
	select {
	case <-sign:
	case <-time.After(30 * time.Second):
		t.Fatalf("waited for %s", what)
	}
}

// A talker is a backend that talks to a program without end.
type talker struct {
	serve.Backend
	full chan struct{} // is closed when much was said
}

func (b *talker) Speak(_ context.Context, _ *serve.Launching, conn io.ReadWriter) {
	line := []byte(strings.Repeat("x", 1<<20))
	for n := 0; ; n++ {
		if n == 1 {
			close(b.full)
		}
		if _, err := conn.Write(line); err != nil {
			return
		}
	}
}

// A server ends although a program does not read what it is told.
func TestAProgramThatDoesNotReadHoldsUpNoEnd(t *testing.T) {
	servetest.Home(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &talker{full: make(chan struct{})}
	s := runSite(t, l, &serve.Options{Token: token, Backend: b})
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if raw, ok := conn.(*net.TCPConn); ok {
		_ = raw.SetReadBuffer(4 << 10) // it may be larger
	}
	fmt.Fprintf(conn, "GET /v1/wire HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: haft-wire\r\n\r\n{\"type\":\"haft_launch\",\"dir\":\"/\"}\n", l.Addr(), token)
	await(t, "much to be said", b.full)
	s.end()
}

// A slowBackend has one session without a journal, and takes its time.
type slowBackend struct {
	serve.Backend
	infos   atomic.Int32
	watcher chan serve.Watcher
	asked   chan struct{} // gets a token when Info waits
	ended   chan struct{} // gets one when who waited for Info gave up
}

func (b *slowBackend) Info(ctx context.Context, id string) (session.Info, error) {
	if b.infos.Add(1) == 1 {
		return session.Info{ID: id}, nil
	}
	b.asked <- struct{}{}
	<-ctx.Done()
	b.ended <- struct{}{}
	return session.Info{}, ctx.Err()
}
func (b *slowBackend) Refresh(context.Context, string) error              { return nil }
func (b *slowBackend) Status(string, string) (s serve.Status)             { return s }
func (b *slowBackend) Watch(_ context.Context, _ string, w serve.Watcher) { b.watcher <- w }
func (b *slowBackend) Dial(context.Context, string, string) (*serve.Conn, error) {
	return nil, live.ErrNotRunning
}

// While a backend takes its time, a session can still be told something, and a request that
// was given up waits no longer.
func TestASlowBackendHoldsUpNothing(t *testing.T) {
	servetest.Home(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &slowBackend{watcher: make(chan serve.Watcher, 1), asked: make(chan struct{}, 8), ended: make(chan struct{}, 8)}
	s := runSite(t, l, &serve.Options{Token: token, Backend: b})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", s.url+"/v1/sessions/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	go func() {
		if resp, err := http.DefaultClient.Do(r); err == nil {
			resp.Body.Close()
		}
	}()
	await(t, "the follower or the request to ask", b.asked)
	told := make(chan struct{})
	go func() {
		defer close(told)
		(<-b.watcher).Tell(&wire.BackgroundTasksChanged{})
	}()
	await(t, "the session to be told something", told)
	await(t, "the other one to ask", b.asked)
	cancel()
	await(t, "the request to end", b.ended)
}

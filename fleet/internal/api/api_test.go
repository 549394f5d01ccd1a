//go:build linux

package api_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/haftdev/haft/fleet/internal/api"
	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/fleet/internal/worker"
	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/front/serve/servetest"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/script"
)

var reexec shellrun.Reexec

func TestMain(m *testing.M) {
	reexec = shellrun.Supervise()
	os.Exit(m.Run())
}

// A fleet is a server with workers, all in this process.
type fleet struct {
	t     *testing.T
	dir   string
	url   string
	keys  engine.Keys
	model *script.Server
	runs  *runs.Runs
}

func newFleet(t *testing.T, m *script.Server) *fleet {
	t.Helper()
	f := &fleet{t: t, dir: t.TempDir(), model: m}
	srv, err := engine.Start(&engine.ServerOptions{Listen: "127.0.0.1:0", Store: filepath.Join(f.dir, "store")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	settings := filepath.Join(os.Getenv("CLAUDE_CONFIG_DIR"), "settings.json") // of the test's user
	if err := os.MkdirAll(filepath.Dir(settings), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte(`{"preview": "off"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	f.url, f.keys = srv.URL(), srv.Keys()
	conn := f.connect(f.keys.Operator)
	if err := conn.Setup(t.Context(), 1, engine.Limits{}); err != nil {
		t.Fatal(err)
	}
	f.runs = runs.New(conn, engine.DefaultTenant)
	serving, stop := context.WithCancel(context.Background()) // until the workers have ended
	t.Cleanup(stop)
	go func() {
		if err := f.runs.Serve(serving, nil); err != nil {
			t.Error(err)
		}
	}()
	return f
}

func (f *fleet) connect(key string) *engine.Conn {
	f.t.Helper()
	conn, err := engine.Connect(f.t.Context(), f.url, &engine.ConnectOptions{Key: key})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(conn.Close)
	return conn
}

// work starts a worker and returns what ends it.
func (f *fleet) work() (end func()) {
	f.t.Helper()
	conn := f.connect(f.keys.Worker)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := worker.Run(ctx, &worker.Options{
			Conn: conn, Tenant: engine.DefaultTenant, Name: "worker/w", Lease: 3 * time.Second, Drain: time.Second, Dir: filepath.Join(f.dir, "sessions"), Reexec: reexec, Version: "test",
			Model: anthropic.New(&anthropic.Options{BaseURL: f.model.URL(), Key: "k"}),
		}); err != nil {
			f.t.Error(err)
		}
	}()
	end = func() {
		cancel()
		<-done
	}
	f.t.Cleanup(end)
	return end
}

// serve starts a server with the API in front of the fleet.
func (f *fleet) serve(name string) *servetest.Site {
	f.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	b, err := api.Open(ctx, &api.Options{Conn: f.connect(f.keys.Operator), Tenant: engine.DefaultTenant, Dir: f.t.TempDir(), Name: name})
	if err != nil {
		f.t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.t.Fatal(err)
	}
	s := serve.New(&serve.Options{Backend: b, Name: name, Token: servetest.Token, Version: "test"})
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	ended := false
	site := &servetest.Site{T: f.t, URL: "http://" + l.Addr().String(), Dir: f.t.TempDir(), End: func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-done; err != nil {
			f.t.Error(err)
		}
	}}
	f.t.Cleanup(site.End)
	return site
}

// A client cannot tell a fleet from one machine.
func TestTheAPI(t *testing.T) {
	servetest.Run(t, func(t *testing.T, m *script.Server) func() *servetest.Site {
		f := newFleet(t, m)
		f.work()
		return func() *servetest.Site { return f.serve("a server of the test") }
	}, nil)
}

package serve_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/front/live"
	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/front/serve/servetest"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/world/mcp/config"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/script"
)

const (
	token    = servetest.Token
	patience = 2 * time.Second
)

// A site is a server of the test, with a scripted model.
type site struct {
	t      testing.TB
	url    string
	dir    string // where sessions work
	server *serve.Server
	end    func() // ends it, and waits
}

// newSite starts a server for a user of its own.
func newSite(t testing.TB, turns ...script.Turn) *site {
	t.Helper()
	servetest.Home(t)
	return startSite(t, servetest.Scripted(t, turns...), "127.0.0.1:0")
}

// startSite starts a server for the user of the test.
func startSite(t testing.TB, m *script.Server, address string, servers ...config.Entry) *site {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return runSite(t, l, siteOptions(t, m, servers...))
}

// siteOptions are those of a server for the user of the test.
func siteOptions(t testing.TB, m *script.Server, servers ...config.Entry) *serve.Options {
	t.Helper()
	talk := harness.TalkOptions{Client: anthropic.New(&anthropic.Options{BaseURL: m.URL(), Key: "k"}), Model: "claude-opus-5-5", Watch: live.Open("test")}
	talk.MCP.Entries = servers
	kept, err := serve.OpenHome(filepath.Join(os.Getenv("HAFT_HOME"), "serve"), false)
	if err != nil {
		t.Fatal(err)
	}
	kept.Close() // the server of a test is one of several
	return &serve.Options{
		Harness: harness.Options{Preview: "off"}, Talk: talk, Token: token, Version: "test", Patience: patience, Files: os.DirFS("testdata/page"),
		Hosts: []string{"https://box.example"}, Devices: kept.Devices(), Logins: kept.Logins(),
	}
}

// runSite runs a server at a listener until the test ends.
func runSite(t testing.TB, l net.Listener, o *serve.Options) *site {
	t.Helper()
	s := serve.New(o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	st := &site{t: t, url: "http://" + l.Addr().String(), dir: t.TempDir(), server: s}
	ended := false
	st.end = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(30 * time.Second):
			t.Error("the server does not end")
		}
	}
	t.Cleanup(st.end)
	return st
}

// The helpers of the suite, for tests of this server alone.
func (s *site) do(method, path string, body any) (int, []byte) { return s.api().Do(method, path, body) }
func (s *site) must(method, path string, body, reply any) {
	s.t.Helper()
	s.api().Must(method, path, body, reply)
}
func (s *site) refused(method, path string, body any, want int) serve.Problem {
	s.t.Helper()
	return s.api().Refused(method, path, body, want)
}
func (s *site) feed(path, last string) *servetest.Feed { s.t.Helper(); return s.api().Feed(path, last) }
func (s *site) create(prompt string) serve.Session     { s.t.Helper(); return s.api().Create(prompt) }

func (s *site) api() *servetest.Site {
	return &servetest.Site{T: s.t, URL: s.url, Dir: s.dir, End: s.end}
}

// The API does what every server with it must do.
func TestTheAPI(t *testing.T) {
	servetest.Run(t, func(t *testing.T, m *script.Server) func() *servetest.Site {
		return func() *servetest.Site { return startSite(t, m, "127.0.0.1:0").api() }
	}, nil)
}

// until waits until something holds.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for %s", what)
		}
	}
}

func promptOf(text string) agent.Prompt {
	return agent.Prompt{Content: []model.Block{model.TextOf(text)}}
}

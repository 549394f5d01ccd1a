package headless_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/headless"
	"github.com/haftdev/haft/wire"
)

// A guest is a program that leads a conversation, with MCP servers that answer nothing.
type guest struct {
	t    *testing.T
	conn *wire.Conn
	ends chan struct{}
	said chan wire.Message
}

func newGuest(t *testing.T, opts *headless.Options) *guest {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	g := &guest{t: t, ends: make(chan struct{}), said: make(chan wire.Message, 1000)}
	g.conn = wire.NewConn(wire.Lines(wire.NewReader(outR), wire.NewWriter(inW)), nil)
	go func() { _ = g.conn.Run(t.Context(), func(m wire.Message) { g.said <- m }) }()
	go func() {
		headless.Serve(context.WithoutCancel(t.Context()), wire.Lines(wire.NewReader(inR), wire.NewWriter(outW)), opts)
		outW.Close()
		close(g.ends)
	}()
	t.Cleanup(func() {
		inW.Close()
		g.ended()
	})
	return g
}

func (g *guest) ended() {
	select {
	case <-g.ends:
	case <-time.After(30 * time.Second):
		g.t.Error("the conversation does not end")
	}
}

// ask makes a request, and returns the answer as it was sent.
func (g *guest) ask(r wire.Request) (string, error) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), 30*time.Second)
	defer cancel()
	var reply json.RawMessage
	err := g.conn.Call(ctx, r, &reply)
	return string(reply), err
}

// must is ask for a request that must be served.
func (g *guest) must(r wire.Request) string {
	g.t.Helper()
	reply, err := g.ask(r)
	if err != nil {
		g.t.Errorf("%s: %v", r.Subtype(), err)
	}
	return reply
}

// status is how the servers are, by name.
func (g *guest) status() map[string]wire.MCPServerStatus {
	g.t.Helper()
	var reply wire.MCPStatusReply
	if err := json.Unmarshal([]byte(g.must(&wire.MCPStatus{})), &reply); err != nil {
		g.t.Fatal(err)
	}
	servers := make(map[string]wire.MCPServerStatus)
	for _, s := range reply.MCPServers {
		servers[s.Name] = s
	}
	return servers
}

// A server of a project starts by the user's approval only. A program that has a server of the
// same name gets its own, whether it is a client of a server or the parent of this process.
func TestANameStartsNoServerOfTheProject(t *testing.T) {
	for _, isGuest := range []bool{false, true} {
		for _, flags := range []string{"", "--strict-mcp-config"} {
			t.Run(fmt.Sprintf("guest %v %s", isGuest, flags), func(t *testing.T) {
				opts, dir := stage(t, flags, `{"turns":[]}`)
				opts.Guest = isGuest
				mark := filepath.Join(dir, "mark")
				write(t, filepath.Join(opts.Harness.Dir, ".mcp.json"), fmt.Sprintf(`{"mcpServers":{"evil":{"command":"touch","args":[%q]}}}`, mark))
				write(t, filepath.Join(dir, ".claude", "settings.json"), `{"disabledMcpjsonServers":["evil"],"deniedMcpServers":[{"serverName":"evil"}]}`)
				g := newGuest(t, opts)
				g.must(&wire.Initialize{SDKMCPServers: []string{"evil"}})
				for _, step := range []wire.Request{nil, &wire.MCPSetServers{Servers: map[string]json.RawMessage{"evil": json.RawMessage(`{"type":"sdk"}`)}}} {
					if step != nil {
						g.must(step)
					}
					if evil := g.status()["evil"]; evil.Transport != "sdk" || evil.Scope != "sdk" {
						t.Errorf("the server is %+v", evil)
					}
					_, _ = g.ask(&wire.MCPReconnect{ServerName: "evil"}) // which waits for it
				}
				g.must(&wire.MCPSetServers{})
				_, err := g.ask(&wire.MCPReconnect{ServerName: "evil"})
				if flags == "" && (err == nil || !isGuest && !strings.Contains(err.Error(), "deny this server")) {
					t.Errorf("the project's server: %v", err)
				}
				if _, err := os.Stat(mark); err == nil {
					t.Error("the project's server was started")
				}
			})
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Servers are set while others connect, for which approval is asked at any time.
func TestServersAreSetWhileOthersConnect(t *testing.T) {
	opts, _ := stage(t, "", `{"turns":[]}`)
	write(t, filepath.Join(opts.Harness.Dir, ".mcp.json"), `{"mcpServers":{"other":{"command":"true"}}}`)
	g := newGuest(t, opts)
	g.must(&wire.Initialize{})
	var asked sync.WaitGroup
	for i := range 40 {
		asked.Go(func() { _, _ = g.ask(&wire.MCPReconnect{ServerName: "other"}) }) // which is not approved
		asked.Go(func() {
			g.must(&wire.MCPSetServers{Servers: map[string]json.RawMessage{fmt.Sprint("mine", i): json.RawMessage(`{"type":"sdk"}`)}})
		})
	}
	asked.Wait()
	if servers := g.status(); len(servers) != 2 || servers["other"].Status != "pending" {
		t.Errorf("the servers are %v", servers)
	}
}

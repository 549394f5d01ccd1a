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

	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/internal/world/mcp/config"
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

// ownersServers are set up by the flags of a server's owner, one of them switched off.
func ownersServers(opts *headless.Options, mark string) {
	for name, raw := range map[string]string{
		"own": `{"command":"haft-test-has-no-such-command","args":["--token=${OWNERS_KEY}"]}`, "off": fmt.Sprintf(`{"command":"touch","args":[%q],"disabled":true}`, mark),
	} {
		opts.Talk.MCP.Entries = append(opts.Talk.MCP.Entries, config.Entry{Name: name, Raw: json.RawMessage(raw), Scope: "dynamic", Origin: "the owner"})
	}
}

// A guest calls the servers of the owner only through the model, by the owner's rules, and
// starts none that the owner has switched off, not even under the name of its own.
func TestAGuestLeavesTheOwnersServersAlone(t *testing.T) {
	opts, dir := stage(t, "", `{"turns":[{"blocks":[{"tool":"RefreshMcpTools","input":{"server":"off"}}]},{"blocks":[{"text":"Done."}]}]}`)
	opts.Guest = true
	t.Setenv("OWNERS_KEY", "sk-secret")
	mark := filepath.Join(dir, "mark")
	ownersServers(opts, mark)
	g := newGuest(t, opts)
	g.must(&wire.Initialize{SDKMCPServers: []string{"mine", "own"}})
	for _, set := range []map[string]json.RawMessage{nil, {"own": json.RawMessage(`{"type":"sdk"}`), "off": json.RawMessage(`{"type":"sdk"}`)}, {}} {
		if set != nil {
			g.must(&wire.MCPSetServers{Servers: set})
		}
		for _, r := range []wire.Request{
			&wire.MCPCall{Tool: "mcp__own__wipe"}, &wire.MCPReadResource{ServerName: "own", URI: "file:///x"},
			&wire.MCPReconnect{ServerName: "off"}, &wire.MCPToggle{ServerName: "off", Enabled: true},
		} {
			if _, err := g.ask(r); err == nil || !strings.Contains(err.Error(), "only possible in a terminal") {
				t.Errorf("%s with %v: %v", r.Subtype(), set, err)
			}
		}
	}
	g.must(&wire.MCPToggle{ServerName: "own"})
	g.must(&wire.MCPToggle{ServerName: "own", Enabled: true})
	for _, typed := range []string{"/mcp enable off", "/mcp reconnect off", "/hooks", "Refresh it."} {
		if result := g.turn(typed); strings.HasPrefix(typed, "/") && !strings.Contains(result, "only possible in a terminal") {
			t.Errorf("%s: %s", typed, result)
		}
	}
	if off := g.status()["off"]; off.Status != "disabled" {
		t.Errorf("the server that is switched off is %s", off.Status)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the server that is switched off was started")
	}
}

// turn sends a prompt, and returns the result.
func (g *guest) turn(prompt string) string {
	g.t.Helper()
	if err := g.conn.Send(&wire.User{Message: wire.UserMessage{Role: "user", Content: wire.Content{Text: prompt}}}); err != nil {
		g.t.Fatal(err)
	}
	for late := time.After(30 * time.Second); ; {
		select {
		case m := <-g.said:
			if r, ok := m.(*wire.Result); ok {
				return r.Result + strings.Join(r.Errors, "\n")
			}
		case <-late:
			g.t.Fatalf("no result of %q", prompt)
		}
	}
}

// A guest learns what the conversation is like, and no passwords of the owner.
func TestAGuestSeesNoPasswords(t *testing.T) {
	for _, isGuest := range []bool{false, true} {
		opts, dir := stage(t, "", `{"turns":[]}`)
		opts.Guest = isGuest
		t.Setenv("OWNERS_KEY", "sk-secret")
		ownersServers(opts, filepath.Join(dir, "mark"))
		write(t, filepath.Join(dir, ".claude", "settings.json"), `{"env":{"K":"sk-secret"},"effortLevel":"high","hooks":{"Stop":[{"hooks":[{"type":"command","command":"curl -H sk-secret"}]}]},
			"mcpServers":{"web":{"url":"https://localhost:1/?key=sk-secret","headersHelper":"echo sk-secret"}}}`)
		g := newGuest(t, opts)
		g.must(&wire.Initialize{})
		if _, err := g.ask(&wire.MCPReconnect{ServerName: "web"}); err == nil || strings.Contains(err.Error(), "sk-secret") { // which waits until it has failed
			t.Errorf("guest %v: the server is connected: %v", isGuest, err)
		}
		for _, r := range []wire.Request{&wire.GetSettings{}, &wire.GetHooksListing{}, &wire.MCPStatus{}, &wire.ReloadPlugins{}} {
			if reply := g.must(r); strings.Contains(reply, "sk-secret") == isGuest {
				t.Errorf("guest %v: %s answers %s", isGuest, r.Subtype(), reply)
			}
		}
		if reply := g.must(&wire.GetSettings{}); !strings.Contains(reply, `"effortLevel":"high"`) {
			t.Errorf("guest %v: the settings are %s", isGuest, reply)
		}
	}
}

// A program can have a plugin without its MCP servers.
func TestAPluginWithoutItsServers(t *testing.T) {
	for _, skip := range []bool{false, true} {
		opts, dir := stage(t, "", `{"turns":[]}`)
		plugin := filepath.Join(dir, "fruit")
		write(t, filepath.Join(plugin, ".mcp.json"), `{"mcpServers":{"web":{"url":"https://localhost:1/"}}}`)
		g := newGuest(t, opts)
		if reply := g.must(&wire.Initialize{Plugins: []wire.PluginConfig{{Type: "local", Path: plugin, SkipMCPDiscovery: skip}}}); !strings.Contains(reply, `"plugins_applied":true`) {
			t.Errorf("skip %v: the plugin is not loaded: %s", skip, reply)
		}
		if reply := g.must(&wire.MCPStatus{}); strings.Contains(reply, "plugin:fruit:web") == skip {
			t.Errorf("skip %v: the servers are %s", skip, reply)
		}
	}
}

// The main agent that the settings name is the owner's.
func TestAGuestReplacesNoMainAgent(t *testing.T) {
	for _, isGuest := range []bool{false, true} {
		opts, dir := stage(t, "", `{"turns":[]}`)
		opts.Guest = isGuest
		write(t, filepath.Join(dir, ".claude", "settings.json"), `{"agent":"Explore"}`)
		g := newGuest(t, opts)
		_, err := g.ask(&wire.Initialize{Agents: map[string]wire.Agent{"Explore": {Description: "d", Prompt: "p"}}})
		if isGuest != (err != nil) {
			t.Errorf("guest %v: %v", isGuest, err)
		}
	}
}

// Settings are applied completely or not at all, and those of a guest name no folder that
// depends on where the server runs.
func TestSettingsAreAppliedAsAWhole(t *testing.T) {
	opts, dir := stage(t, "", `{"turns":[]}`)
	opts.Guest = true
	g := newGuest(t, opts)
	g.must(&wire.Initialize{})
	state := func() string { return g.must(&wire.GetSettings{}) + g.must(&wire.ListPermissionRules{}) }
	before := state()
	more := filepath.Join(dir, "more")
	write(t, filepath.Join(more, "file"), "")
	for name, permissions := range map[string]string{
		"an invalid rule":          `{"allow":["Bash("]}`,
		"a folder that is missing": fmt.Sprintf(`{"additionalDirectories":[%q]}`, filepath.Join(more, "missing")),
		"a relative folder":        `{"additionalDirectories":["../more"]}`,
		"permissions off":          fmt.Sprintf(`{"additionalDirectories":[%q],"defaultMode":"bypassPermissions"}`, more),
	} {
		set := json.RawMessage(`{"model":"claude-haiku-4-5","effortLevel":"low","permissions":` + permissions + `}`)
		if _, err := g.ask(&wire.ApplyFlagSettings{Settings: set}); err == nil {
			t.Errorf("%s is applied", name)
		}
		if after := state(); after != before {
			t.Errorf("%s changed\n%s to\n%s", name, before, after)
		}
	}
	g.must(&wire.ApplyFlagSettings{Settings: json.RawMessage(fmt.Sprintf(`{"model":"claude-haiku-4-5","permissions":{"additionalDirectories":[%q],"defaultMode":"plan"}}`, more))})
	if after := state(); !strings.Contains(after, more) || !strings.Contains(after, `"model":"claude-haiku-4-5"`) {
		t.Errorf("after valid settings: %s", after)
	}
}

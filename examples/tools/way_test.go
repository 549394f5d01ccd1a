package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/embed"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// A way is how tools reach a conversation.
type way struct {
	prefix string // of their names
	use    func(*testing.T, *haft.Options)
	// tools returns the tools as haft's pipeline sees them.
	tools func(t *testing.T, dir string) []tool.Tool
}

// TestMain is the program of the tools that are commands, too.
func TestMain(m *testing.M) {
	for _, t := range own() {
		if t.Name == os.Getenv("HAFT_TOOL") {
			os.Exit(tool.Serve(context.Background(), t, os.Stdin, os.Stdout, os.Stderr))
		}
	}
	os.Exit(m.Run())
}

// files describe the tools that are commands, and do not say what the program says itself.
var files = map[string]string{
	"QueryOrders": "read-only: true\nconcurrent: true\nreads: [orders.csv]\nanswers: [validate]\ninput: {type: object, properties: {column: {type: string}, equals: {type: string}}, required: [column, equals]}",
	"OpenTicket":  "writes: ['tickets/{name}.md']\nanswers: [permission, preview]\ninput: {type: object, properties: {name: {type: string}, text: {type: string}, urgent: {type: boolean}}, required: [name, text]}",
	"BuildReport": "read-only: true\nconcurrent: true\nanswers: [permission]\ninput: {type: object, properties: {steps: {type: integer, minimum: 1}}, required: [steps]}",
}

// writeFiles puts the files of the tools into a folder.
func writeFiles(t *testing.T, dir string) {
	t.Helper()
	err := os.MkdirAll(filepath.Join(dir, ".haft", "tools"), 0o755)
	for name, fields := range files {
		text := fmt.Sprintf("---\ncommand: '%s'\n%s\n---\nDoes what %s does.\n", os.Args[0], fields, name)
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, ".haft", "tools", name+".md"), []byte(text), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// ways are the ways of the same three tools.
var ways = map[string]way{
	"as commands": {
		use: func(t *testing.T, o *haft.Options) {
			writeFiles(t, o.Dir)
			o.Transport, o.ExtraArgs = embed.New(nil), []string{"--trust-project"}
		},
		tools: func(t *testing.T, dir string) []tool.Tool {
			writeFiles(t, dir)
			w, err := harness.Open(&harness.Options{Dir: dir, TrustProject: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { w.Close() })
			tools, problems := w.CommandTools()
			if len(tools) != len(files) || len(problems) > 0 {
				t.Fatalf("%d tools, %q", len(tools), problems)
			}
			return tools
		},
	},
	"in the process": {
		use:   func(_ *testing.T, o *haft.Options) { o.Transport = embed.New(&embed.Options{Tools: own()}) },
		tools: func(*testing.T, string) []tool.Tool { return own() },
	},
	"by the SDK": {
		prefix: "mcp__shop__",
		use: func(_ *testing.T, o *haft.Options) {
			o.Transport, o.MCPServers = embed.New(nil), map[string]haft.MCPServer{"shop": server()}
		},
		tools: overTheWire,
	},
}

func eachWay(t *testing.T, test func(*testing.T, way)) {
	for name, w := range ways {
		t.Run(name, func(t *testing.T) { test(t, w) })
	}
}

func server() *haft.ToolServer {
	var tools []haft.Tool
	for _, t := range own() {
		tools = append(tools, haft.FromTool(t))
	}
	return haft.Tools(tools...)
}

// overTheWire returns the tools that a host makes of the server's messages.
func overTheWire(t *testing.T, _ string) []tool.Tool {
	ours, theirs := wire.Pipe()
	var host *mcp.Host
	conn := wire.NewConn(ours, &wire.ConnOptions{Handle: func(_ context.Context, r wire.Request) (any, error) {
		if m, ok := r.(*wire.MCPMessage); ok {
			return wire.Empty{}, host.Receive(m.ServerName, m.Message)
		}
		return wire.InitializeReply{}, nil
	}})
	host = mcp.NewHost(&mcp.Options{Send: func(ctx context.Context, name string, message json.RawMessage) (json.RawMessage, error) {
		var reply wire.MCPMessageReply
		err := conn.Call(ctx, &wire.MCPMessage{ServerName: name, Message: message}, &reply)
		return reply.MCPResponse, err
	}})
	go conn.Run(t.Context(), func(wire.Message) {})
	client, err := haft.NewClient(t.Context(), &haft.Options{Transport: transport{theirs}, MCPServers: map[string]haft.MCPServer{"shop": server()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		host.Close()
		client.Close()
	})
	host.Start([]mcp.Server{{Name: "shop", Type: mcp.SDK, Trusted: true}})
	if err := host.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return host.Tools()
}

// A transport starts nothing: its other end is here.
type transport struct{ end *wire.PipeEnd }

func (tr transport) Start(context.Context, *haft.Launch) (haft.Link, error) { return link{tr.end}, nil }

type link struct{ *wire.PipeEnd }

func (link) Wait() error { return nil }

// shop makes a folder with orders, and a model that plays these turns.
func shop(t *testing.T, turns ...script.Turn) (dir string, model *script.Server) {
	t.Helper()
	model, err := scripttest.Serve(t, &script.Options{Scenario: &script.Scenario{Turns: turns}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	t.Setenv("ANTHROPIC_BASE_URL", model.URL())
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant-scripted")
	t.Setenv("HOME", t.TempDir())
	// The folder of a test has too long a name for a socket.
	sockets, err := os.MkdirTemp("", "tools")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(sockets) })
	t.Setenv("XDG_RUNTIME_DIR", sockets)
	t.Setenv("IS_SANDBOX", "1") // tests may run as root
	return orders(t), model
}

// orders makes a folder with a table.
func orders(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, table), []byte("id,city,total\n1,Ulm,12\n2,Bonn,7\n3,Ulm,30\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func says(text string) script.Turn { return script.Turn{Blocks: []script.Block{{Text: text}}} }

func (w way) calls(name, input string) script.Turn {
	return script.Turn{Blocks: []script.Block{{Tool: w.prefix + name, Input: json.RawMessage(input)}}}
}

// play sends a prompt and returns what the tools answered.
func (w way) play(t *testing.T, opts *haft.Options) (answers string, all []haft.Message) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w.use(t, opts)
	for m, err := range haft.Query(ctx, "go", opts) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
		if u, ok := m.(*haft.User); ok {
			for _, a := range haft.ToolAnswers(u) {
				answers += a.Text + "\n"
			}
		}
	}
	return strings.TrimSpace(answers), all
}

package mcpresource_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/tools/mcpresource"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
)

// shelf has two resources and one that takes for ever.
type shelf struct{}

func (shelf) Resources(ctx context.Context, server string) ([]mcp.Resource, error) {
	switch server {
	case "slow":
		<-ctx.Done()
		return nil, ctx.Err()
	case "tree":
		return []mcp.Resource{
			{URI: "doc://x/a", MIMEType: "text/plain"}, {URI: "doc://x/deep/b"}, {URI: "doc://x/deep/c"}, {URI: "doc://xy/no"}, {URI: "doc://x/{any}", Template: true},
		}, nil
	case "", "lib":
		return []mcp.Resource{
			{Server: "lib", URI: "file:///a.txt", Name: "a.txt", MIMEType: "text/plain", Description: "First\nletter."},
			{Server: "lib", URI: "file:///{name}", Name: "files", Template: true},
		}, nil
	}
	return nil, mcp.UnknownServer(server)
}

func (shelf) ReadResource(ctx context.Context, server, uri string) ([]mcp.Contents, error) {
	switch uri {
	case "slow:":
		<-ctx.Done()
		return nil, ctx.Err()
	case "file:///b.png":
		return []mcp.Contents{{URI: uri, Blob: []byte("\x89PNG\r\n\x1a\n")}, {URI: uri, MIMEType: "application/x-thing", Blob: []byte{0, 1}}}, nil
	}
	if server != "lib" {
		return nil, mcp.UnknownServer(server)
	}
	return []mcp.Contents{{URI: uri, MIMEType: "text/plain", Text: "alpha"}}, nil
}

// RefreshTools brings one tool.
func (shelf) RefreshTools(ctx context.Context, server string) ([]mcp.Status, error) {
	switch server {
	case "slow":
		<-ctx.Done()
		return nil, ctx.Err()
	case "", "lib":
		return []mcp.Status{{Name: "lib", State: mcp.Connected, Tools: []mcp.ToolStatus{{Name: "lend"}}}, {Name: "bad", State: mcp.Failed, Error: "it is gone"}}, nil
	}
	return nil, mcp.UnknownServer(server)
}

// Reruns is a file for one server.
func (shelf) Reruns(server string) string {
	if server == "own" {
		return "/project/server.py"
	}
	return ""
}

func TestAServerThatRunsAProjectFileIsAskedAbout(t *testing.T) {
	refresh := mcpresource.Refresh(shelf{})
	for server, want := range map[string]tool.Behavior{"own": tool.Ask, "lib": tool.Allow, "": tool.Allow} {
		input, err := json.Marshal(mcpresource.RefreshInput{Server: server})
		if err != nil {
			t.Fatal(err)
		}
		if v := refresh.Permission(t.Context(), &tool.Call{Input: input}); v.Behavior != want {
			t.Errorf("%q: %s (%s), want %s", server, v.Behavior, v.Reason, want)
		}
	}
}

func TestConformance(t *testing.T) {
	tooltest.Run(t, tooltest.Subject{Tool: mcpresource.ReadDir(shelf{}), Valid: []string{`{"server":"lib","uri":"file:///"}`}, Slow: `{"server":"slow","uri":"file:///"}`})
	tooltest.Run(t, tooltest.Subject{Tool: mcpresource.Refresh(shelf{}), Valid: []string{`{}`, `{"server":"lib"}`}, Slow: `{"server":"slow"}`})
	tooltest.Run(t, tooltest.Subject{Tool: mcpresource.List(shelf{}), Valid: []string{`{}`, `{"server":"lib"}`}, Slow: `{"server":"slow"}`})
	tooltest.Run(t, tooltest.Subject{Tool: mcpresource.Read(shelf{}), Valid: []string{`{"server":"lib","uri":"file:///a.txt"}`}, Slow: `{"server":"lib","uri":"slow:"}`})
}

func TestWhatTheModelReads(t *testing.T) {
	tools := mcpresource.New(shelf{})
	for _, c := range []struct {
		tool  int
		input string
		want  string
	}{
		{0, `{}`, "lib file:///a.txt (a.txt) text/plain: First letter.\nlib file:///{name} (files) template"},
		{0, `{"server":"nope"}`, `error: There is no MCP server "nope". ListMcpResources without a server shows which have resources.`},
		{1, `{"server":"lib","uri":"file:///a.txt"}`, "alpha"},
		{1, `{"server":"lib","uri":"file:///b.png"}`, "file file:///b.png application/x-thing 2"},
		{2, `{"server":"tree","uri":"doc://x"}`, "doc://x/a text/plain\ndoc://x/deep/"},
		{2, `{"server":"tree","uri":"doc://x/deep/"}`, "doc://x/deep/b\ndoc://x/deep/c"},
		{2, `{"server":"lib","uri":"doc://y"}`, "error: The MCP server lib lists nothing under doc://y. ListMcpResources shows what it has."},
		{3, `{}`, "lib: connected; tools: lend\nbad: failed, it is gone"},
		{3, `{"server":"nope"}`, `error: There is no MCP server "nope". ListMcpResources without a server shows which have resources.`},
	} {
		r, err := tools[c.tool].Run(t.Context(), &tool.Call{Input: json.RawMessage(c.input)})
		got := r.Text()
		if b := r.Content; len(b) > 0 && b[len(b)-1].Type == tool.FileBlock {
			b := b[len(b)-1]
			got = fmt.Sprintf("file %s %s %d", b.Text, b.MediaType, len(b.Data))
		}
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != c.want {
			t.Errorf("%s %s: %q, want %q", tools[c.tool].Name, c.input, got, c.want)
		}
	}
}

func TestProgramsGetTheShapesOfTheProtocol(t *testing.T) {
	tools := mcpresource.New(shelf{})
	r, err := tools[0].Run(t.Context(), &tool.Call{Input: json.RawMessage(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(r.Output)
	if !strings.HasPrefix(string(raw), `[{"server":"lib","uri":"file:///a.txt","name":"a.txt"`) {
		t.Errorf("list: %s", raw)
	}
	if r, err = tools[1].Run(t.Context(), &tool.Call{Input: json.RawMessage(`{"server":"lib","uri":"x:"}`)}); err != nil {
		t.Fatal(err)
	}
	if raw, _ = json.Marshal(r.Output); string(raw) != `{"contents":[{"uri":"x:","mimeType":"text/plain","text":"alpha"}]}` {
		t.Errorf("read: %s", raw)
	}
	if tools[0].Aliases[0] != "ListMcpResourcesTool" || tools[1].Aliases[0] != "ReadMcpResourceTool" {
		t.Error("the older names are gone")
	}
}

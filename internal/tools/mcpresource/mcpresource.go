// Package mcpresource provides the tools ListMcpResources, ReadMcpResourceDir and
// ReadMcpResource, which read what MCP servers offer, and RefreshMcpTools, which asks them
// again what they offer.
//
// Trust: the tools ask only servers that are already configured and approved, and touch
// nothing else. Answers of a server are untrusted. An address is sent to the server as the
// model wrote it, so reading can leak information to the server; the rules decide whether it
// is allowed.
package mcpresource

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/tool"
)

// Servers are where resources come from; an [mcp.Host] is one.
type Servers interface {
	Resources(ctx context.Context, server string) ([]mcp.Resource, error)
	ReadResource(ctx context.Context, server, uri string) ([]mcp.Contents, error)
	// RefreshTools reconnects a server, or all that are not connected (""), and returns their
	// state afterwards.
	RefreshTools(ctx context.Context, server string) ([]mcp.Status, error)
	// Reruns returns a file of the project that RefreshTools would run, which may have changed;
	// "" means that it would run none.
	Reruns(server string) string
}

// Flag is the flag of sessions that have MCP servers; other sessions do not need the tools.
const Flag = "mcp"

func enabled(s *tool.Session) bool { return s.Flags[Flag] }

//go:embed list.md
var listDescription string

//go:embed read.md
var readDescription string

// listInput is what the model sends to list.
type listInput struct {
	Server string `json:"server,omitempty" jsonschema:"The server to ask. Default: all." haft:"example=github"`
}

// readInput is what the model sends to read.
type readInput struct {
	Server string `json:"server" jsonschema:"The server's name." haft:"min=1;example=github"`
	URI    string `json:"uri" jsonschema:"The resource's address." haft:"min=1;example=file:///notes.txt"`
}

// readOutput is what programs get from ReadMcpResource.
type readOutput struct {
	Contents []mcp.Contents `json:"contents"`
}

// New returns the tools.
func New(servers Servers) []tool.Tool {
	return []tool.Tool{List(servers), Read(servers), ReadDir(servers), Refresh(servers)}
}

// List returns the tool that lists resources.
func List(servers Servers) tool.Tool {
	return tool.New(tool.Def[listInput, []mcp.Resource]{
		Name:        "ListMcpResources",
		Aliases:     []string{"ListMcpResourcesTool"},
		SearchHint:  "list mcp server resources documents",
		Description: listDescription,
		Enabled:     enabled,
		Marks:       func(listInput) tool.Marks { return readOnly },
		Permission: func(context.Context, *tool.Call, listInput) tool.Verdict {
			return tool.Verdict{Behavior: tool.Allow, Reason: "listing changes nothing"}
		},
		Run: func(ctx context.Context, _ *tool.Call, in listInput) ([]mcp.Resource, error) {
			list, err := servers.Resources(ctx, in.Server)
			return list, explain(ctx, err)
		},
		Render:    renderList,
		Summarize: func(in listInput) string { return in.Server },
		Deferred:  true,
	})
}

var readOnly = tool.Marks{ReadOnly: true, ConcurrencySafe: true, Effect: tool.Idempotent}

// Read returns the tool that reads a resource.
func Read(servers Servers) tool.Tool {
	return tool.New(tool.Def[readInput, readOutput]{
		Name:        "ReadMcpResource",
		Aliases:     []string{"ReadMcpResourceTool"},
		SearchHint:  "read mcp server resource document by uri",
		Description: readDescription,
		Enabled:     enabled,
		Marks:       func(readInput) tool.Marks { return readOnly },
		Run: func(ctx context.Context, _ *tool.Call, in readInput) (readOutput, error) {
			contents, err := servers.ReadResource(ctx, in.Server, in.URI)
			return readOutput{contents}, explain(ctx, err)
		},
		Render:    renderContents,
		Summarize: func(in readInput) string { return in.Server + ":" + in.URI },
		Deferred:  true,
	})
}

// explain makes errors the model's, but for a cancellation.
func explain(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	var unknown mcp.UnknownServer
	if errors.As(err, &unknown) {
		return tool.Errorf("There is no MCP server %q. ListMcpResources without a server shows which have resources.", string(unknown))
	}
	return tool.Errorf("%w", err)
}

func renderList(list []mcp.Resource) tool.Result {
	if len(list) == 0 {
		return tool.Text("No connected MCP server has resources. The servers' tools may still have what you need.")
	}
	var b strings.Builder
	for _, r := range list {
		fmt.Fprintf(&b, "%s %s", r.Server, r.URI)
		if r.Name != "" && r.Name != r.URI {
			fmt.Fprintf(&b, " (%s)", r.Name)
		}
		if r.MIMEType != "" {
			fmt.Fprintf(&b, " %s", r.MIMEType)
		}
		if r.Template {
			b.WriteString(" template")
		}
		if r.Description != "" {
			fmt.Fprintf(&b, ": %s", strings.Join(strings.Fields(r.Description), " "))
		}
		b.WriteByte('\n')
	}
	return tool.Text(strings.TrimSuffix(b.String(), "\n"))
}

func renderContents(out readOutput) tool.Result {
	var r tool.Result
	for _, c := range out.Contents {
		r.Content = append(r.Content, block(c))
	}
	if len(r.Content) == 0 {
		return tool.Text("The resource is empty.")
	}
	return r
}

// maxImage is the largest image that a model is shown, in bytes.
const maxImage = 5 << 20

func block(c mcp.Contents) tool.Block {
	if c.Blob == nil {
		return tool.Block{Type: tool.TextBlock, Text: c.Text}
	}
	kind, _, _ := strings.Cut(http.DetectContentType(c.Blob), ";")
	switch {
	case len(c.Blob) > maxImage:
	case kind == "image/png", kind == "image/jpeg", kind == "image/gif", kind == "image/webp":
		return tool.Block{Type: tool.ImageBlock, MediaType: kind, Data: c.Blob}
	case kind == "application/pdf":
		return tool.Block{Type: tool.DocumentBlock, MediaType: kind, Data: c.Blob}
	}
	if c.MIMEType != "" {
		kind = c.MIMEType
	}
	return tool.Block{Type: tool.FileBlock, Text: c.URI, MediaType: kind, Data: c.Blob}
}

package mcpresource

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/mcp"
	"github.com/haftdev/haft/tool"
)

// DirOutput is what programs get of ReadMcpResourceDir.
type DirOutput struct {
	Entries []DirEntry `json:"entries"`
}

// A DirEntry is a resource directly below an address, or a folder of such.
type DirEntry struct {
	URI       string `json:"uri"`
	Name      string `json:"name"`
	MIMEType  string `json:"mimeType,omitempty"`
	Directory bool   `json:"directory,omitempty"`
}

// ReadDir returns the tool that lists one level of a server's resources.
func ReadDir(servers Servers) tool.Tool {
	return tool.New(tool.Def[ReadInput, DirOutput]{
		Name:        "ReadMcpResourceDir",
		Aliases:     []string{"ReadMcpResourceDirTool"},
		SearchHint:  "list directory folder of mcp server resources by uri",
		Description: "Lists what an MCP server has directly below an address, such as file:///project/src/: its resources and the folders with more of them.",
		Enabled:     enabled,
		Marks:       func(ReadInput) tool.Marks { return readOnly },
		Permission: func(context.Context, *tool.Call, ReadInput) tool.Verdict {
			return tool.Verdict{Behavior: tool.Allow, Reason: "listing changes nothing"}
		},
		Run: func(ctx context.Context, _ *tool.Call, in ReadInput) (DirOutput, error) {
			list, err := servers.Resources(ctx, in.Server)
			if err != nil {
				return DirOutput{}, explain(ctx, err)
			}
			out := DirOutput{Entries: below(list, in.URI)}
			if len(out.Entries) == 0 {
				return out, tool.Errorf("The MCP server %s lists nothing below %s. ListMcpResources shows what it has.", in.Server, in.URI)
			}
			return out, nil
		},
		Render: func(o DirOutput) tool.Result {
			var lines []string
			for _, e := range o.Entries {
				line := e.URI
				if e.MIMEType != "" {
					line += " " + e.MIMEType
				}
				lines = append(lines, line)
			}
			return tool.Text(strings.Join(lines, "\n"))
		},
		Summarize: func(in ReadInput) string { return in.Server + ":" + in.URI },
		Deferred:  true,
	})
}

// below are the resources one level below an address; deeper ones stand for folders.
func below(list []mcp.Resource, uri string) []DirEntry {
	dir := strings.TrimRight(uri, "/") + "/"
	if strings.HasSuffix(uri, "://") || strings.HasSuffix(uri, ":///") {
		dir = uri
	}
	entries := []DirEntry{}
	seen := map[string]bool{}
	for _, r := range list {
		rest, ok := strings.CutPrefix(r.URI, dir)
		if !ok || rest == "" || r.Template {
			continue
		}
		e := DirEntry{URI: r.URI, Name: r.Name, MIMEType: r.MIMEType}
		if name, _, deeper := strings.Cut(rest, "/"); deeper {
			e = DirEntry{URI: dir + name + "/", Name: name, Directory: true}
		}
		if !seen[e.URI] {
			seen[e.URI] = true
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b DirEntry) int { return cmp.Compare(a.URI, b.URI) })
	return entries
}

// RefreshInput is what the model sends to RefreshMcpTools.
type RefreshInput struct {
	Server string `json:"server,omitempty" jsonschema:"The server to connect again; absent means all that are not connected." haft:"example=github"`
}

// RefreshOutput is what programs get of it.
type RefreshOutput struct {
	Servers []RefreshedServer `json:"servers"`
}

// A RefreshedServer is how a server is.
type RefreshedServer struct {
	Name  string   `json:"name"`
	State string   `json:"status"`
	Error string   `json:"error,omitempty"`
	Tools []string `json:"tools"`
}

// Refresh returns the tool that asks servers again what they offer.
func Refresh(servers Servers) tool.Tool {
	return tool.New(tool.Def[RefreshInput, RefreshOutput]{
		Name:        "RefreshMcpTools",
		SearchHint:  "refresh reconnect mcp server tools missing disconnected",
		Description: "Reconnects an MCP server and loads the tools it offers now. Without a server, reconnects all that are not connected. Use it when a server's tools are missing or have changed.",
		Enabled:     enabled,
		Marks:       func(RefreshInput) tool.Marks { return tool.Marks{Effect: tool.Idempotent} },
		Permission: func(context.Context, *tool.Call, RefreshInput) tool.Verdict {
			return tool.Verdict{Behavior: tool.Allow, Reason: "it starts no server that is not set up and approved"}
		},
		Run: func(ctx context.Context, _ *tool.Call, in RefreshInput) (RefreshOutput, error) {
			out := RefreshOutput{Servers: []RefreshedServer{}}
			list, err := servers.RefreshTools(ctx, in.Server)
			for _, s := range list {
				r := RefreshedServer{Name: s.Name, State: string(s.State), Error: s.Error, Tools: []string{}}
				for _, t := range s.Tools {
					r.Tools = append(r.Tools, t.Name)
				}
				out.Servers = append(out.Servers, r)
			}
			return out, explain(ctx, err)
		},
		Render:    RefreshOutput.Render,
		Summarize: func(in RefreshInput) string { return in.Server },
		Deferred:  true,
	})
}

// Render says how the servers read to the model.
func (o RefreshOutput) Render() tool.Result {
	if len(o.Servers) == 0 {
		return tool.Text("No MCP servers are set up.")
	}
	var lines []string
	for _, s := range o.Servers {
		line := fmt.Sprintf("%s: %s", s.Name, s.State)
		if s.Error != "" {
			line += ", " + s.Error
		}
		if len(s.Tools) > 0 {
			line += "; tools: " + strings.Join(s.Tools, ", ")
		}
		lines = append(lines, line)
	}
	return tool.Text(strings.Join(lines, "\n"))
}

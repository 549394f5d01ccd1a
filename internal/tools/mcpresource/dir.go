package mcpresource

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/tool"
)

// dirOutput is what programs get from ReadMcpResourceDir.
type dirOutput struct {
	Entries []dirEntry `json:"entries"`
}

// A DirEntry is a resource directly below an address, or a folder of such.
type dirEntry struct {
	URI       string `json:"uri"`
	Name      string `json:"name"`
	MIMEType  string `json:"mimeType,omitempty"`
	Directory bool   `json:"directory,omitempty"`
}

// ReadDir returns the tool that lists one level of a server's resources.
func ReadDir(servers Servers) tool.Tool {
	return tool.New(tool.Def[readInput, dirOutput]{
		Name:        "ReadMcpResourceDir",
		Aliases:     []string{"ReadMcpResourceDirTool"},
		SearchHint:  "list directory folder of mcp server resources by uri",
		Description: "Lists the resources and folders that an MCP server has directly under an address, such as file:///project/src/.",
		Enabled:     enabled,
		Marks:       func(readInput) tool.Marks { return readOnly },
		Permission: func(context.Context, *tool.Call, readInput) tool.Verdict {
			return tool.Verdict{Behavior: tool.Allow, Reason: "listing changes nothing"}
		},
		Run: func(ctx context.Context, _ *tool.Call, in readInput) (dirOutput, error) {
			list, err := servers.Resources(ctx, in.Server)
			if err != nil {
				return dirOutput{}, explain(ctx, err)
			}
			out := dirOutput{Entries: below(list, in.URI)}
			if len(out.Entries) == 0 {
				return out, tool.Errorf("The MCP server %s lists nothing under %s. ListMcpResources shows what it has.", in.Server, in.URI)
			}
			return out, nil
		},
		Render: func(o dirOutput) tool.Result {
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
		Summarize: func(in readInput) string { return in.Server + ":" + in.URI },
		Deferred:  true,
	})
}

// below are the resources one level below an address; deeper ones stand for folders.
func below(list []mcp.Resource, uri string) []dirEntry {
	dir := strings.TrimRight(uri, "/") + "/"
	if strings.HasSuffix(uri, "://") || strings.HasSuffix(uri, ":///") {
		dir = uri
	}
	entries := []dirEntry{}
	seen := map[string]bool{}
	for _, r := range list {
		rest, ok := strings.CutPrefix(r.URI, dir)
		if !ok || rest == "" || r.Template {
			continue
		}
		e := dirEntry{URI: r.URI, Name: r.Name, MIMEType: r.MIMEType}
		if name, _, deeper := strings.Cut(rest, "/"); deeper {
			e = dirEntry{URI: dir + name + "/", Name: name, Directory: true}
		}
		if !seen[e.URI] {
			seen[e.URI] = true
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b dirEntry) int { return cmp.Compare(a.URI, b.URI) })
	return entries
}

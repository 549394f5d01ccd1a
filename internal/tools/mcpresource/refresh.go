package mcpresource

import (
	"context"
	"fmt"
	"strings"

	"github.com/haftdev/haft/tool"
)

// RefreshInput is what the model sends to RefreshMcpTools.
type RefreshInput struct {
	Server string `json:"server,omitempty" jsonschema:"The server to reconnect. Default: all that are not connected." haft:"example=github"`
}

// refreshOutput is what programs get from RefreshMcpTools.
type refreshOutput struct {
	Servers []refreshedServer `json:"servers"`
}

// A RefreshedServer is the state of a server.
type refreshedServer struct {
	Name  string   `json:"name"`
	State string   `json:"status"`
	Error string   `json:"error,omitempty"`
	Tools []string `json:"tools"`
}

// Refresh returns the tool that asks servers again what they offer.
func Refresh(servers Servers) tool.Tool {
	return tool.New(tool.Def[RefreshInput, refreshOutput]{
		Name:        "RefreshMcpTools",
		SearchHint:  "refresh reconnect mcp server tools missing disconnected",
		Description: "Reconnects an MCP server and loads the tools it offers now. Without a server, reconnects all that are not connected. Use it when a server's tools are missing or have changed.",
		Enabled:     enabled,
		Marks:       func(RefreshInput) tool.Marks { return tool.Marks{Effect: tool.Idempotent} },
		Permission: func(_ context.Context, _ *tool.Call, in RefreshInput) tool.Verdict {
			if file := servers.Reruns(in.Server); file != "" {
				return tool.Verdict{Behavior: tool.Ask, Reason: "it starts a server that runs " + file + ", a file of the project"}
			}
			return tool.Verdict{Behavior: tool.Allow, Reason: "it only starts servers that are set up and approved"}
		},
		Run: func(ctx context.Context, _ *tool.Call, in RefreshInput) (refreshOutput, error) {
			out := refreshOutput{Servers: []refreshedServer{}}
			list, err := servers.RefreshTools(ctx, in.Server)
			for _, s := range list {
				r := refreshedServer{Name: s.Name, State: string(s.State), Error: s.Error, Tools: []string{}}
				for _, t := range s.Tools {
					r.Tools = append(r.Tools, t.Name)
				}
				out.Servers = append(out.Servers, r)
			}
			return out, explain(ctx, err)
		},
		Render:    refreshOutput.render,
		Summarize: func(in RefreshInput) string { return in.Server },
		Deferred:  true,
	})
}

// render says how the servers read to the model.
func (o refreshOutput) render() tool.Result {
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

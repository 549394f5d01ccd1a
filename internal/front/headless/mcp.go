package headless

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// serversTime is how long the first turn waits for servers: a program relies on the tools
// that it provides.
const serversTime = 10 * time.Second

// mcpRequests are those about MCP servers.
func mcpRequests(q *requests) []row {
	return []row{
		about(q, func(_ context.Context, talk *harness.Conversation, _ *wire.MCPStatus) (any, error) {
			return mcpStatus(talk, q.opts.Guest), nil
		}),
		about(q, setServers),
		about(q, reconnect),
		about(q, toggle),
		about(q, overrideMode),
		about(q, readResource),
		about(q, callMCP),
		about(q, receiveMCP),
	}
}

func reconnect(ctx context.Context, talk *harness.Conversation, r *wire.MCPReconnect) (any, error) {
	return nil, withServer(talk, r.ServerName, func(h *mcp.Host) error { return h.Reconnect(ctx, r.ServerName) })
}

func toggle(_ context.Context, talk *harness.Conversation, r *wire.MCPToggle) (any, error) {
	return nil, withServer(talk, r.ServerName, func(h *mcp.Host) error { return h.Toggle(r.ServerName, r.Enabled) })
}

// receiveMCP handles what a server inside the program sends unasked, such as that its tools
// have changed. Messages of a server that is gone are ignored.
func receiveMCP(_ context.Context, talk *harness.Conversation, r *wire.MCPMessage) (any, error) {
	if talk.MCP.Has(r.ServerName) != nil {
		return wire.Empty{}, nil
	}
	return wire.Empty{}, withServer(talk, r.ServerName, func(h *mcp.Host) error { return h.Receive(r.ServerName, r.Message) })
}

// withServer does something with the host of a server that there is.
func withServer(talk *harness.Conversation, name string, do func(*mcp.Host) error) error {
	if talk.MCP.Has(name) != nil {
		return &wire.ControlError{Message: "Server not found: " + name} // as programs know it
	}
	host, err := talk.MCP.Open()
	if err != nil {
		return err
	}
	return do(host)
}

// mcpStatus reports the status of servers, without the values of their variables and
// headers. A guest learns of the owner's servers only how they are reached: variables of this
// machine are filled in everywhere.
func mcpStatus(talk *harness.Conversation, guest bool) wire.MCPStatusReply {
	var reply wire.MCPStatusReply
	for _, st := range talk.MCP.Status() {
		if guest {
			st.Config = mcp.Server{Type: st.Type}
		}
		m := wire.MCPServerStatus{
			Name: st.Name, Status: string(st.State), Error: st.Error, Config: mustJSON(st.Config), Transport: string(st.Type), Scope: st.Scope, Source: source(st),
		}
		if st.Info != nil {
			m.ServerInfo = &wire.MCPServerInfo{Name: st.Info.Name, Version: st.Info.Version}
		}
		for _, t := range st.Tools {
			tool := wire.MCPToolInfo{Name: t.Name}
			if t.Annotations != nil {
				tool.Annotations = mustJSON(t.Annotations)
			}
			m.Tools = append(m.Tools, tool)
		}
		reply.MCPServers = append(reply.MCPServers, m)
	}
	return reply
}

// source says where a server comes from, as the wire spells it.
func source(st mcp.Status) string {
	if st.Scope == "flag" {
		return "dynamic"
	}
	return st.Scope
}

// setServers replaces the servers that the program provides. The answer waits until they
// are connected or have failed: the program may use them at once.
func setServers(ctx context.Context, talk *harness.Conversation, r *wire.MCPSetServers) (any, error) {
	change, err := talk.MCP.Set(r.Servers)
	if err != nil {
		return nil, err
	}
	host, err := talk.MCP.Open()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, serversTime)
	defer cancel()
	_ = host.Wait(ctx) // the status reports those that are not ready yet
	talk.TakeTools()   // the host reports its change later, and the next turn may begin at once
	reply := wire.MCPSetServersReply{Added: change.Added, Removed: change.Removed, Errors: change.Errors}
	if reply.Errors == nil {
		reply.Errors = map[string]string{}
	}
	for _, st := range host.Status() {
		if _, ours := r.Servers[st.Name]; ours && st.State == mcp.Failed {
			reply.Errors[st.Name] = st.Error
		}
	}
	return reply, nil
}

// overrideMode makes calls of a server ask even in modes that never ask. It can only make
// the session more careful.
func overrideMode(_ context.Context, talk *harness.Conversation, r *wire.SetMCPPermissionModeOverride) (any, error) {
	if r.Mode != "" && r.Mode != "default" && r.Mode != "auto" {
		return nil, fmt.Errorf("the mode of one server must be default, auto or null, not %q: it may only make the session more careful", r.Mode)
	}
	rule := permission.Rule{Text: "mcp__" + r.ServerName, Behavior: tool.Ask, Origin: settings.Origin{Source: settings.Session}}
	if err := rule.Check(); err != nil {
		return nil, err
	}
	talk.World.Engine.Revoke(rule)
	if r.Mode != "" {
		talk.World.Engine.Grant(rule)
	}
	var reply wire.WarningReply
	if talk.MCP.Has(r.ServerName) != nil {
		reply.Warning = fmt.Sprintf("There is no MCP server %q yet; the mode will apply once there is one.", r.ServerName)
	}
	return reply, nil
}

func readResource(ctx context.Context, talk *harness.Conversation, r *wire.MCPReadResource) (any, error) {
	reply := wire.MCPReadResourceReply{Contents: wire.List[json.RawMessage]{}}
	err := withServer(talk, r.ServerName, func(h *mcp.Host) error {
		contents, err := h.ReadResource(ctx, r.ServerName, r.URI)
		for _, c := range contents {
			reply.Contents = append(reply.Contents, mustJSON(c))
		}
		return err
	})
	return reply, err
}

func callMCP(ctx context.Context, talk *harness.Conversation, r *wire.MCPCall) (any, error) {
	if r.CheckPermissions {
		return nil, &wire.ControlError{Message: "The tool did not run: this session cannot check permissions outside a turn"}
	}
	server, name, ok := splitTool(r.Tool)
	if !ok || talk.MCP.Has(server) != nil {
		return nil, &wire.ControlError{Message: "MCP server not connected: " + server}
	}
	input := r.Arguments
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	var reply wire.MCPCallReply
	err := withServer(talk, server, func(h *mcp.Host) error {
		result, err := h.Call(ctx, server, name, &tool.Call{ID: session.NewUUID(), Tool: r.Tool, Input: input})
		for _, b := range result.Content {
			reply.Content = append(reply.Content, mustJSON(b))
		}
		reply.IsError = result.Failed
		return err
	})
	return reply, err
}

// splitTool takes mcp__server__tool apart.
func splitTool(name string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "__")
}

// askTool returns a way to ask a tool of an MCP server instead of the program: the older
// form of the permission callback.
func askTool(opened func() *harness.Conversation, name string) func(context.Context, wire.Request, any) error {
	server, toolName, _ := splitTool(name)
	return func(ctx context.Context, r wire.Request, reply any) error {
		q := r.(*wire.CanUseTool)
		input := mustJSON(map[string]any{"tool_name": q.ToolName, "input": q.Input, "tool_use_id": q.ToolUseID})
		return withServer(opened(), server, func(h *mcp.Host) error {
			result, err := h.Call(ctx, server, toolName, &tool.Call{ID: session.NewUUID(), Tool: name, Input: input})
			if err != nil {
				return err
			}
			if result.Failed {
				return errors.New(result.Text())
			}
			return json.Unmarshal([]byte(result.Text()), reply)
		})
	}
}

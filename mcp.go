package haft

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// An MCPServer is where tools come from: [Stdio], [HTTP], [SSE], or functions of
// this program, see [Tools].
type MCPServer interface{ mcpServer() }

// Stdio is an MCP server that the command line starts.
type Stdio struct {
	Command string            `json:"command"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
}

// HTTP is an MCP server reached by streamable HTTP.
type HTTP struct {
	URL     string
	Headers map[string]string
}

// SSE is an MCP server reached by the older transport over HTTP.
type SSE struct {
	URL     string
	Headers map[string]string
}

func (Stdio) mcpServer()       {}
func (HTTP) mcpServer()        {}
func (SSE) mcpServer()         {}
func (*ToolServer) mcpServer() {}

// MarshalJSON writes the server in the format of configuration files.
func (s HTTP) MarshalJSON() ([]byte, error) { return remote("http", s.URL, s.Headers) }

// MarshalJSON writes the server in the format of configuration files.
func (s SSE) MarshalJSON() ([]byte, error) { return remote("sse", s.URL, s.Headers) }

func remote(kind, url string, headers map[string]string) ([]byte, error) {
	return json.Marshal(struct {
		Type    string            `json:"type"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers,omitempty"`
	}{kind, url, headers})
}

// mcpConfig is a server in the form that the command line accepts.
func mcpConfig(name string, s MCPServer) (json.RawMessage, error) {
	if _, here := s.(*ToolServer); here {
		return json.Marshal(map[string]string{"type": "sdk", "name": name})
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode MCP server %s: %w", name, err)
	}
	return raw, nil
}

// mcpVersion is the version of MCP that a ToolServer speaks.
const mcpVersion = "2025-11-25"

// A ToolServer offers Go functions over MCP, inside this program.
type ToolServer struct {
	tools  []Tool
	byName map[string]*Tool

	mu    sync.Mutex
	calls map[string]context.CancelFunc // by JSON-RPC id
}

// Tools returns a server with the given tools, for [Options.MCPServers]. The model sees
// them as mcp__<server>__<tool>. Tools panics if two have the same name. One server may
// serve many clients at once.
func Tools(tools ...Tool) *ToolServer {
	s := &ToolServer{tools: tools, byName: map[string]*Tool{}, calls: map[string]context.CancelFunc{}}
	for i := range tools {
		t := &tools[i]
		if s.byName[t.name] != nil {
			panic(fmt.Sprintf("haft.Tools: two tools are named %q", t.name))
		}
		s.byName[t.name] = t
	}
	return s
}

// rpc is a message of JSON-RPC.
type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// serve answers one message. Notify sends a message that answers none.
func (s *ToolServer) serve(ctx context.Context, name string, message json.RawMessage, notify func(json.RawMessage)) (*wire.MCPMessageReply, error) {
	var in rpc
	if err := json.Unmarshal(message, &in); err != nil {
		return nil, fmt.Errorf("decode MCP message: %w", err)
	}
	if len(in.ID) == 0 { // a notification; the wire expects an answer anyway
		s.notified(in)
		return reply(json.RawMessage("0"), map[string]any{}, nil)
	}
	switch in.Method {
	case "initialize":
		return reply(in.ID, initializeResult(name, in.Params), nil)
	case "ping":
		return reply(in.ID, map[string]any{}, nil)
	case "tools/list":
		return reply(in.ID, s.list(), nil)
	case "tools/call":
		result, bad := s.call(ctx, in, notify)
		return reply(in.ID, result, bad)
	case "haft/tool":
		answer, bad := s.question(ctx, in)
		return reply(in.ID, answer, bad)
	}
	return reply(in.ID, nil, &rpcError{-32601, "method not found: " + in.Method})
}

func reply(id json.RawMessage, result any, bad *rpcError) (*wire.MCPMessageReply, error) {
	m := map[string]any{"jsonrpc": "2.0", "id": id}
	if bad != nil {
		m["error"] = bad
	} else {
		m["result"] = result
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode MCP answer: %w", err)
	}
	return &wire.MCPMessageReply{MCPResponse: raw}, nil
}

func initializeResult(name string, params json.RawMessage) map[string]any {
	asked := struct {
		ProtocolVersion string `json:"protocolVersion"`
	}{mcpVersion}
	_ = json.Unmarshal(params, &asked) // without it, the default applies
	return map[string]any{
		"protocolVersion": asked.ProtocolVersion,
		"capabilities":    map[string]any{"tools": map[string]any{}},
		"serverInfo":      map[string]any{"name": name, "version": version},
	}
}

func (s *ToolServer) list() map[string]any {
	all := make([]any, 0, len(s.tools))
	for i := range s.tools {
		all = append(all, s.tools[i].definition())
	}
	return map[string]any{"tools": all}
}

// find decodes the parameters of a request about a tool.
func (s *ToolServer) find(in rpc) (*Tool, *toolCall, *rpcError) {
	c := new(toolCall)
	if err := json.Unmarshal(in.Params, c); err != nil {
		return nil, nil, &rpcError{-32602, err.Error()}
	}
	t := s.byName[c.Name]
	if t == nil {
		return nil, nil, &rpcError{-32602, "unknown tool: " + c.Name}
	}
	return t, c, nil
}

// question answers what haft asks about a call of a tool of [FromTool] before it runs.
func (s *ToolServer) question(ctx context.Context, in rpc) (any, *rpcError) {
	t, c, bad := s.find(in)
	if bad != nil {
		return nil, bad
	}
	var about struct {
		Part tool.ContractPart `json:"part"`
	}
	if err := json.Unmarshal(in.Params, &about); err != nil {
		return nil, &rpcError{-32602, err.Error()}
	}
	answer, err := t.answer(ctx, about.Part, c)
	if err != nil {
		return nil, &rpcError{-32000, err.Error()}
	}
	return map[string]any{"answer": answer}, nil
}

func (s *ToolServer) call(ctx context.Context, in rpc, notify func(json.RawMessage)) (*ToolResult, *rpcError) {
	t, c, bad := s.find(in)
	if bad != nil {
		return nil, bad
	}
	if len(c.Meta.Progress) > 0 && t.whole != nil {
		stop := c.reports(notify)
		defer stop()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	id := string(in.ID)
	s.mu.Lock()
	s.calls[id] = cancel
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.calls, id)
	}()
	return t.run(ctx, c), nil
}

// notified handles a notification. Only cancellations of calls matter here.
func (s *ToolServer) notified(in rpc) {
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if in.Method != "notifications/cancelled" || json.Unmarshal(in.Params, &params) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.calls[string(params.RequestID)]; cancel != nil {
		cancel()
	}
}

// manifest is what the server would answer; sending it saves the command line a request.
func (s *ToolServer) manifest(name string) (*wire.MCPManifest, error) {
	hello, err := json.Marshal(initializeResult(name, nil))
	if err != nil {
		return nil, fmt.Errorf("describe MCP server %s: %w", name, err)
	}
	list, err := json.Marshal(s.list())
	if err != nil {
		return nil, fmt.Errorf("describe MCP server %s: %w", name, err)
	}
	return &wire.MCPManifest{InitializeResult: hello, ToolsListResult: list}, nil
}

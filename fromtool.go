package haft

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/haftdev/haft/tool"
)

// FromTool returns a tool with the whole contract of package tool: what t says about a call, such
// as its marks, the files that it touches and the change that it would make, counts as for haft's
// own tools. Command lines other than haft's do not ask for that and only run it. Messages and
// changes of the conversation in its results are dropped, and its permission view cannot replace
// the input. FromTool panics if t is wrongly built.
func FromTool(t tool.Tool) Tool {
	if err := t.Check(); err != nil {
		panic(fmt.Sprintf("haft.FromTool(%q): %v", t.Name, err))
	}
	return Tool{
		name: t.Name, description: t.Describe(new(tool.Session)), input: t.Input, whole: &t,
		opts: ToolOptions{Title: t.Title, AlwaysLoad: !t.Deferred},
		call: func(ctx context.Context, c *toolCall) (*ToolResult, error) {
			r, err := t.Run(ctx, c.whole())
			if err != nil {
				return nil, err
			}
			return wholeResult(r), nil
		},
	}
}

// A toolCall is what a server is told about a call.
type toolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Meta      struct {
		Progress json.RawMessage `json:"progressToken"`
		UseID    string          `json:"claudecode/toolUseId"`
		Dir      string          `json:"haft/dir"`
		Approved string          `json:"haft/approved"`
	} `json:"_meta"`
	report func(tool.Progress) // does not block; nil drops it
}

// whole is the call as package tool knows it.
func (c *toolCall) whole() *tool.Call {
	return &tool.Call{
		ID: c.Meta.UseID, UseID: c.Meta.UseID, Tool: c.Name, Input: c.Arguments, Dir: c.Meta.Dir, Approved: c.Meta.Approved,
		Progress: func(p tool.Progress) {
			if c.report != nil {
				c.report(p)
			}
		},
	}
}

// wholeResult is a result in the format of MCP.
func wholeResult(r tool.Result) *ToolResult {
	result := &ToolResult{Content: []any{}, Structured: r.Output, IsError: r.Failed}
	if raw, err := json.Marshal(r.Output); err != nil || len(raw) == 0 || raw[0] != '{' {
		result.Structured = nil // the protocol knows only objects
	}
	for _, b := range r.Content {
		switch b.Type {
		case tool.TextBlock:
			result.Content = append(result.Content, TextContent(b.Text))
		case tool.ImageBlock:
			result.Content = append(result.Content, ImageContent(b.Data, b.MediaType))
		default:
			result.Content = append(result.Content, map[string]any{"type": "resource", "resource": map[string]any{
				"uri": "haft:document", "mimeType": b.MediaType, "blob": b.Data,
			}})
		}
	}
	return result
}

// reports has progress of the call sent until stop is called: one message at a time, and of
// reports that wait only the newest, so that the tool never waits.
func (c *toolCall) reports(notify func(json.RawMessage)) (stop func()) {
	newest, over, ended := make(chan tool.Progress, 1), make(chan struct{}), make(chan struct{})
	var reporting sync.Mutex // calls of a tool that reports from several goroutines
	c.report = func(p tool.Progress) {
		reporting.Lock()
		defer reporting.Unlock()
		select {
		case <-newest:
		default:
		}
		newest <- p
	}
	go func() {
		defer close(ended)
		for n := 1; ; n++ {
			select {
			case p := <-newest:
				notify(progressNotification(c.Meta.Progress, n, p))
			case <-over:
				return
			}
		}
	}()
	return func() {
		close(over)
		<-ended
	}
}

// progressNotification is progress in the format of MCP.
func progressNotification(token json.RawMessage, n int, p tool.Progress) json.RawMessage {
	params := map[string]any{"progressToken": token, "progress": n, "message": tool.ProgressLine(p)}
	if m, ok := p.(tool.MCPProgress); ok {
		params["progress"], params["total"] = m.Progress, m.Total
	}
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
	if err != nil {
		return nil
	}
	return raw
}

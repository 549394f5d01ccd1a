package haft

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/schema"
)

// A Tool is a Go function that the model can call. The zero value is not
// usable; see [NewTool] and [FromTool].
type Tool struct {
	name, description string
	opts              ToolOptions
	input             *schema.Schema
	call              func(context.Context, *toolCall) (*ToolResult, error)
	whole             *tool.Tool // of FromTool; nil for other tools
}

// ToolOptions describe a tool further. The zero value assumes the worst.
type ToolOptions struct {
	// Title is the name that people see; "" means the name.
	Title string
	// ReadOnly says that calls change nothing.
	ReadOnly bool
	// Idempotent says that calling twice has no more effect than calling once.
	Idempotent bool
	// AlwaysLoad shows the tool to the model from the start, even if there are so many
	// tools that others are shown only when the model searches for them.
	AlwaysLoad bool
}

// A ToolResult is the result of a tool, where text or a Go value is not enough.
type ToolResult struct {
	// Content are blocks of the MCP protocol; see TextContent and ImageContent.
	Content []any `json:"content"`
	// Structured is an object for programs; nil means none.
	Structured any `json:"structuredContent,omitempty"`
	// IsError marks a failure that the model should read and act on.
	IsError bool `json:"isError,omitempty"`
}

// TextContent returns a block of text.
func TextContent(text string) any {
	return map[string]string{"type": "text", "text": text}
}

// ImageContent returns an image; mediaType is, for example, image/png.
func ImageContent(data []byte, mediaType string) any {
	return map[string]any{"type": "image", "data": data, "mimeType": mediaType}
}

// NewTool returns a tool that runs f. In must be a struct: its fields, with their json and
// jsonschema tags, are the input that the model must send, as described in package
// tool/schema. Input that does not fit never reaches f. Out is a string, a *[ToolResult], or
// any value, which the model reads as JSON. If f returns an error, the call has failed: the
// model reads the error and continues. NewTool panics if In cannot be described. Nil options
// mean the zero value.
func NewTool[In, Out any](name, description string, f func(context.Context, In) (Out, error), opts *ToolOptions) Tool {
	input := schema.Of[In]()
	if err := input.Err(); err != nil {
		panic(fmt.Sprintf("haft.NewTool(%q): %v", name, err))
	}
	t := Tool{name: name, description: description, input: input}
	if opts != nil {
		t.opts = *opts
	}
	t.call = func(ctx context.Context, c *toolCall) (*ToolResult, error) {
		var in In
		if err := json.Unmarshal(c.Arguments, &in); err != nil {
			return nil, fmt.Errorf("decode input: %w", err)
		}
		out, err := f(ctx, in)
		if err != nil {
			return nil, err
		}
		return resultOf(out)
	}
	return t
}

// run checks the input and calls the function. If something goes wrong, including a panic,
// the result is a failed one.
func (t *Tool) run(ctx context.Context, c *toolCall) (result *ToolResult) {
	defer func() {
		if p := recover(); p != nil {
			result = failed(fmt.Errorf("the tool %s panicked: %v", t.name, p))
		}
	}()
	err := t.check(c)
	if err == nil {
		result, err = t.call(ctx, c)
	}
	if err != nil {
		return failed(err)
	}
	return result
}

// check replaces the input by one of the right shape.
func (t *Tool) check(c *toolCall) error {
	if len(c.Arguments) == 0 {
		c.Arguments = json.RawMessage("{}")
	}
	fixed, _, err := t.input.View(nil).Check(c.Arguments)
	if err == nil {
		c.Arguments = fixed
	}
	return err
}

// answer answers a question about a call before it runs.
func (t *Tool) answer(ctx context.Context, part tool.ContractPart, c *toolCall) (answer json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			answer, err = nil, fmt.Errorf("the tool %s panicked: %v", t.name, p)
		}
	}()
	if t.whole == nil {
		return nil, fmt.Errorf("the tool %s has no contract", t.name)
	}
	if err := t.check(c); err != nil {
		return nil, err
	}
	return tool.Answer(ctx, t.whole, part, c.whole())
}

// definition is the tool in an answer to tools/list.
func (t *Tool) definition() map[string]any {
	annotations := map[string]any{"readOnlyHint": t.opts.ReadOnly, "idempotentHint": t.opts.Idempotent}
	if t.opts.Title != "" {
		annotations["title"] = t.opts.Title
	}
	d := map[string]any{
		"name":        t.name,
		"description": t.description,
		"inputSchema": t.input.View(nil).JSON(),
		"annotations": annotations,
	}
	meta := map[string]any{}
	if t.opts.AlwaysLoad {
		meta["anthropic/alwaysLoad"] = true
	}
	if t.whole != nil {
		meta["haft/contract"] = tool.ContractOf(t.whole)
	}
	if len(meta) > 0 {
		d["_meta"] = meta
	}
	return d
}

func failed(err error) *ToolResult {
	return &ToolResult{Content: []any{TextContent(err.Error())}, IsError: true}
}

// resultOf makes a result of what a tool's function returned.
func resultOf(out any) (*ToolResult, error) {
	switch out := out.(type) {
	case string:
		return &ToolResult{Content: []any{TextContent(out)}}, nil
	case *ToolResult:
		if out == nil {
			return &ToolResult{Content: []any{}}, nil
		}
		return out, nil
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode output: %w", err)
	}
	r := &ToolResult{Content: []any{TextContent(string(raw))}}
	if kind := reflect.Indirect(reflect.ValueOf(out)).Kind(); kind == reflect.Struct || kind == reflect.Map {
		r.Structured = json.RawMessage(raw)
	}
	return r, nil
}

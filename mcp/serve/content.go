package serve

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/tool"
)

// result is a result as clients get it.
func (s *Server) result(t Tool, r tool.Result) *sdk.CallToolResult {
	out := &sdk.CallToolResult{Content: []sdk.Content{}, IsError: r.Failed}
	for i, b := range r.Content {
		out.Content = append(out.Content, content(i, b))
	}
	if t.Output == nil || r.Failed {
		return out
	}
	structured, err := bounded(r.Output)
	if err != nil {
		s.opts.Log.Error("could not encode the output of a tool", "tool", t.Name, "error", err)
		return out
	}
	out.StructuredContent = structured
	return out
}

// tags tell a model where an error comes from; a client says that by itself.
var tags = strings.NewReplacer("<tool_use_error>", "", "</tool_use_error>", "")

// content is a block in the words of MCP, which has no documents and references.
func content(i int, b tool.Block) sdk.Content {
	switch b.Type {
	case tool.TextBlock:
		return &sdk.TextContent{Text: tags.Replace(b.Text)}
	case tool.ImageBlock:
		return &sdk.ImageContent{MIMEType: b.MediaType, Data: b.Data}
	case tool.DocumentBlock:
		return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{
			URI: fmt.Sprintf("haft://result/document/%d", i+1), MIMEType: b.MediaType, Blob: b.Data,
		}}
	}
	return &sdk.TextContent{Text: fmt.Sprintf("[%s %s]", b.Type, b.Text)}
}

// Bounds of structured content. The text of a result was bounded by the pipeline;
// its typed form is the same thing again for programs, and must not be the way
// around that.
const (
	maxStructured = 200_000 // bytes, before anything is cut
	maxString     = 10_000  // bytes of one text, when something is
)

// bounded encodes an output. If that is too long its long texts are cut: its shape
// stays that of the schema.
func bounded(output any) (json.RawMessage, error) {
	raw, err := json.Marshal(output)
	if err != nil || len(raw) <= maxStructured {
		return raw, err
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	return json.Marshal(shorten(v))
}

// shorten cuts the long texts in a JSON value.
func shorten(v any) any {
	switch v := v.(type) {
	case string:
		if len(v) > maxString {
			return strings.ToValidUTF8(v[:maxString], "") + fmt.Sprintf("… (%d bytes cut)", len(v)-maxString)
		}
	case []any:
		for i := range v {
			v[i] = shorten(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = shorten(v[k])
		}
	}
	return v
}

package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/haftdev/haft/internal/mcp/envelope"
	"github.com/haftdev/haft/tool"
)

// A block is a content block of any type.
type block struct {
	Type        string    `json:"type"`
	Text        string    `json:"text"`
	Data        []byte    `json:"data"`
	MIMEType    string    `json:"mimeType"`
	Resource    *contents `json:"resource"` // embedded
	URI         string    `json:"uri"`      // of a link
	Name        string    `json:"name"`
	Title       string    `json:"title"`
	Description string    `json:"description"`
	Size        int64     `json:"size"`
}

type contents struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType"`
	Text     *string `json:"text"`
	Blob     []byte  `json:"blob"`
}

// read makes a result of what the server wrote.
func (p *peer) read(o *offer, raw json.RawMessage) (tool.Result, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return tool.Result{}, tool.Errorf("MCP server %s: the result of %s is no object: %s", p.name, o.Name, shorten(string(raw), 200))
	}
	out := Output{Structured: envelope.Field(raw, "structuredContent"), Meta: envelope.Field(raw, "_meta")}
	if string(out.Structured) == "null" {
		out.Structured = nil
	}
	var r tool.Result
	for element := range envelope.Elements(envelope.Field(raw, "content")) {
		out.Content = append(out.Content, element)
		r.Content = append(r.Content, convert(element)...)
	}
	r.Failed = string(envelope.Field(raw, "isError")) == "true"
	r.Output = out
	if out.Structured != nil && !r.Failed {
		p.checkOutput(o, out.Structured)
	}
	if out.Structured != nil && !repeats(out.Structured, r.Content) {
		r.Content = append(r.Content, tool.Block{Type: tool.TextBlock, Text: string(out.Structured)})
	}
	if len(r.Content) == 0 {
		r.Content = tool.Text("(" + o.Name + " completed with no output)").Content
	}
	return r, nil
}

// checkOutput warns of structured content that is not what was announced.
func (p *peer) checkOutput(o *offer, structured json.RawMessage) {
	if o.output == nil {
		return
	}
	if _, _, err := o.output.View(nil).Check(structured); err != nil {
		p.host.opts.Log.Warn("mcp: structured content does not fit the tool's outputSchema", "server", p.name, "tool", o.Name, "problem", err)
	}
}

// repeats reports whether a text block says the same as the structured content,
// or as the one thing that is wrapped in it.
func repeats(structured json.RawMessage, content []tool.Block) bool {
	var whole any
	if json.Unmarshal(structured, &whole) != nil {
		return false
	}
	said := []any{whole}
	if object, ok := whole.(map[string]any); ok && len(object) == 1 {
		for _, only := range object {
			said = append(said, only)
		}
	}
	for _, b := range content {
		if b.Type != tool.TextBlock {
			continue
		}
		var parsed any
		isJSON := json.Unmarshal([]byte(b.Text), &parsed) == nil
		for _, v := range said {
			text, isText := v.(string)
			if isJSON && reflect.DeepEqual(v, parsed) || isText && strings.TrimSpace(text) == strings.TrimSpace(b.Text) {
				return true
			}
		}
	}
	return false
}

// convert makes of a content block what a model can read.
func convert(raw json.RawMessage) []tool.Block {
	var b block
	if err := json.Unmarshal(raw, &b); err != nil {
		return note("a content block that cannot be read: %s", shorten(err.Error(), 200))
	}
	switch b.Type {
	case "text":
		return tool.Text(b.Text).Content
	case "image":
		return media(b.Data, b.MIMEType, "image")
	case "audio":
		return file(b.Data, kindOf(b.Data, b.MIMEType), "audio")
	case "resource":
		if b.Resource != nil {
			return b.Resource.blocks()
		}
	case "resource_link":
		return note("resource %s%s%s%s", b.URI, named(" ", first(b.Title, b.Name)), named(", ", b.MIMEType), named(": ", b.Description))
	}
	return note("content of the unknown type %q, %d bytes", b.Type, len(raw))
}

func (c *contents) blocks() []tool.Block {
	if c.Text != nil {
		return tool.Text(fmt.Sprintf("[resource %s]\n%s", c.URI, *c.Text)).Content
	}
	return media(c.Blob, c.MIMEType, "resource "+c.URI)
}

// maxMedia is the largest image or document that a model is shown, in bytes.
const maxMedia = 5 << 20

// media shows bytes if models can look at their kind.
func media(data []byte, mime, what string) []tool.Block {
	kind := kindOf(data, mime)
	if len(data) > maxMedia {
		return file(data, kind, what+", too large to show")
	}
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return []tool.Block{{Type: tool.ImageBlock, MediaType: kind, Data: data}}
	case "application/pdf":
		return []tool.Block{{Type: tool.DocumentBlock, MediaType: kind, Data: data}}
	}
	if strings.HasPrefix(kind, "text/") {
		return tool.Text(fmt.Sprintf("[%s]\n%s", what, strings.ToValidUTF8(string(data), "\ufffd"))).Content
	}
	return file(data, kind, what)
}

// file leaves bytes that cannot be shown to the pipeline, which saves them.
func file(data []byte, kind, what string) []tool.Block {
	return []tool.Block{{Type: tool.FileBlock, Text: what, MediaType: kind, Data: data}}
}

// kindOf believes the bytes rather than the server.
func kindOf(data []byte, mime string) string {
	sniffed, _, _ := strings.Cut(http.DetectContentType(data), ";")
	if len(data) > 0 && (strings.HasPrefix(sniffed, "image/") || sniffed == "application/pdf") {
		return sniffed
	}
	mime, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(mime)), ";")
	if mime == "" || strings.HasPrefix(mime, "image/") {
		return sniffed
	}
	return mime
}

func note(format string, args ...any) []tool.Block {
	return tool.Text("[" + fmt.Sprintf(format, args...) + "]").Content
}

func named(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/tool"
)

// A block is a content block of any type.
type block struct {
	Type        string    `json:"type"`
	Text        string    `json:"text"`
	Data        string    `json:"data"` // in base64
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
	Blob     string  `json:"blob"` // in base64
}

// repeats reports whether the content says the same as the structured content, or as the
// one thing that is wrapped in it: in a text, or as the list that it is.
func repeats(structured json.RawMessage, raw []json.RawMessage, content []tool.Block) bool {
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
	var list any
	if text, err := json.Marshal(raw); err == nil && json.Unmarshal(text, &list) == nil && slices.ContainsFunc(said, func(v any) bool { return reflect.DeepEqual(v, list) }) {
		return true
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

// withoutData is structured content as a text, without the bytes of images and other files
// that are in the content already.
func withoutData(structured json.RawMessage, content []json.RawMessage) string {
	text := string(structured)
	for _, element := range content {
		var b block
		if json.Unmarshal(element, &b) != nil {
			continue
		}
		data := b.Data
		if b.Resource != nil {
			data = first(data, b.Resource.Blob)
		}
		if len(data) > 100 { // less may occur by chance, and does no harm
			text = strings.ReplaceAll(text, `"`+data+`"`, fmt.Sprintf("\"(the %d bytes of the %s above)\"", base64.StdEncoding.DecodedLen(len(data)), b.Type))
		}
	}
	return text
}

// convert makes of a content block what a model can read.
func convert(raw json.RawMessage) []tool.Block {
	if text, ok := plainText(raw); ok {
		return tool.Text(text).Content
	}
	var b block
	if err := json.Unmarshal(raw, &b); err != nil {
		return note("a content block that cannot be read: %s", shorten(string(raw), 100))
	}
	switch b.Type {
	case "text":
		return tool.Text(b.Text).Content
	case "image":
		return decoded(b.Data, b.Type, func(data []byte) []tool.Block { return media(data, b.MIMEType, b.Type) })
	case "audio":
		return decoded(b.Data, b.Type, func(data []byte) []tool.Block { return file(data, kindOf(data, b.MIMEType), b.Type) })
	case "resource":
		if b.Resource != nil {
			return b.Resource.blocks()
		}
	case "resource_link":
		return note("resource %s%s%s%s", b.URI, named(" ", first(b.Title, b.Name)), named(", ", b.MIMEType), named(": ", b.Description))
	}
	return note("content of the unknown type %q, %d bytes", b.Type, len(raw))
}

// plainText is the text of a block that is nothing else, which may be megabytes: it is not read
// by reflection.
func plainText(raw json.RawMessage) (text string, ok bool) {
	var isText bool
	err := plainjson.Members(raw, func(name string, value []byte) (err error) {
		switch name {
		case "type":
			isText = string(value) == `"text"`
		case "text":
			text, err = plainjson.Text(value)
			ok = err == nil
		}
		return err
	})
	return text, ok && isText && err == nil
}

func (c *contents) blocks() []tool.Block {
	if c.Text != nil {
		return tool.Text(fmt.Sprintf("[resource %s]\n%s", c.URI, *c.Text)).Content
	}
	what := "resource " + c.URI
	return decoded(c.Blob, what, func(data []byte) []tool.Block { return media(data, c.MIMEType, what) })
}

// decoded shows bytes that were written in base64, or says that they were not.
func decoded(text, what string, show func([]byte) []tool.Block) []tool.Block {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return note("%s: its data cannot be shown because it is not valid base64 (%d characters)", what, len(text))
	}
	return show(data)
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

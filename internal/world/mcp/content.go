package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
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

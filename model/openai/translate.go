package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

type textMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type partsMessage struct {
	Role    string `json:"role"`
	Content []part `json:"content"`
}

type toolMessage struct {
	Role    string `json:"role"`
	CallID  string `json:"tool_call_id"`
	Content string `json:"content"`
}

type assistantMessage struct {
	Role    string  `json:"role"`
	Content *string `json:"content"`
	Calls   []call  `json:"tool_calls,omitempty"`
}

type call struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type part struct {
	Type  string    `json:"type"`
	Text  string    `json:"text,omitempty"`
	Image *imageURL `json:"image_url,omitempty"`
	File  *file     `json:"file,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type file struct {
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

// translate returns a message of the Messages API as those of this one, with
// commas between; nothing if nothing of it can be said.
func translate(raw json.RawMessage) ([]byte, error) {
	var m model.Message
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	var out []any
	switch m.Role {
	case model.Assistant:
		out = fromAssistant(m.Content)
	default:
		out = fromUser(string(m.Role), m.Content)
	}
	pieces := make([][]byte, len(out))
	for i, message := range out {
		var err error
		if pieces[i], err = plainjson.Marshal(message); err != nil {
			return nil, err
		}
	}
	return bytes.Join(pieces, []byte(",")), nil
}

func fromAssistant(blocks []model.Block) []any {
	m := assistantMessage{Role: "assistant"}
	var said []string
	for _, b := range blocks {
		switch b.Type {
		case model.Text:
			said = append(said, b.Text)
		case model.ToolUse:
			m.Calls = append(m.Calls, call{b.ID, "function", function{b.Name, arguments(b)}})
		}
	}
	text := strings.Join(said, "\n\n")
	if text != "" || len(m.Calls) == 0 {
		m.Content = &text
	}
	return []any{m}
}

// arguments is the input of a call as it may be sent; some servers parse it.
func arguments(b model.Block) string {
	if len(b.Input) == 0 || !json.Valid(b.Input) {
		return "{}"
	}
	return string(b.Input)
}

// fromUser puts the results of calls first, because they must follow the calls,
// and the pictures in them after, because a result can only be text.
func fromUser(role string, blocks []model.Block) []any {
	var out []any
	var parts []part
	for _, b := range blocks {
		if b.Type == model.ToolResult {
			text, pictures := fromResult(b)
			out = append(out, toolMessage{"tool", b.UseID, text})
			parts = append(parts, pictures...)
		}
	}
	for _, b := range blocks {
		if b.Type != model.ToolResult {
			parts = append(parts, fromBlock(b)...)
		}
	}
	switch {
	case len(parts) == 0:
	case onlyText(parts):
		out = append(out, textMessage{role, joined(parts)})
	default:
		out = append(out, partsMessage{role, parts})
	}
	return out
}

func onlyText(parts []part) bool {
	for _, p := range parts {
		if p.Type != "text" {
			return false
		}
	}
	return true
}

// joined makes one text of several, which every server takes.
func joined(parts []part) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.Text
	}
	return strings.Join(texts, "\n\n")
}

func fromResult(b model.Block) (text string, pictures []part) {
	var said []string
	for _, c := range b.Content {
		switch c.Type {
		case tool.TextBlock:
			said = append(said, c.Text)
		case tool.ReferenceBlock:
			said = append(said, fmt.Sprintf("The tool %s can now be called.", c.Text))
		default:
			said = append(said, fmt.Sprintf("[%s, shown below]", c.Type))
			pictures = append(pictures, fromContent(c)...)
		}
	}
	if len(b.Content) == 0 && b.Raw != nil {
		said = append(said, string(b.Raw))
	}
	text = strings.Join(said, "\n")
	if b.IsError && !strings.HasPrefix(strings.ToLower(text), "error") {
		text = "Error: " + text
	}
	return text, pictures
}

func fromBlock(b model.Block) []part {
	if b.Type == model.Text {
		return []part{{Type: "text", Text: b.Text}}
	}
	var c tool.Block
	if b.Raw == nil || json.Unmarshal(b.Raw, &c) != nil {
		return nil
	}
	return fromContent(c)
}

func fromContent(c tool.Block) []part {
	data := "data:" + c.MediaType + ";base64," + base64.StdEncoding.EncodeToString(c.Data)
	switch c.Type {
	case tool.TextBlock:
		return []part{{Type: "text", Text: c.Text}}
	case tool.ImageBlock:
		return []part{{Type: "image_url", Image: &imageURL{data}}}
	case tool.DocumentBlock:
		return []part{{Type: "file", File: &file{"document.pdf", data}}}
	}
	return nil
}

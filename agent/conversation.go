package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/plainjson"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// A conversation is what the model is sent. It can always be sent: the two sides take
// turns, no message is empty, and every tool_use has its tool_result in the message that
// follows.
type conversation struct {
	history model.History
	// heard is what our side has said since the last answer. If sent is set, it is already
	// the last message of the history, and grows there if the answer does not come.
	heard []model.Block
	sent  bool
	// said is the last answer, if the history ends with it and it may continue.
	said []model.Block
	// open are the calls of the last answer that have no result yet.
	open []string
	// media is a lower bound of the images, or pages of documents, in all of it.
	media int
}

// load takes up a conversation that was restored.
func (c *conversation) load(h *model.History) error {
	c.history = *h.Prefix(h.Len())
	c.eachMedium(func(m medium) { c.media += max(1, m.pages()) })
	if h.Len() == 0 {
		return nil
	}
	last, err := h.Message(h.Len() - 1)
	if err != nil {
		return fmt.Errorf("restore conversation: %w", err)
	}
	if last.Role == model.User {
		c.heard, c.sent = last.Content, true
		return nil
	}
	c.open = uses(last.Content)
	return nil
}

// hear adds what our side says. In a message, results come before anything else, and there
// is one for each call.
func (c *conversation) hear(blocks ...model.Block) {
	blocks = slices.DeleteFunc(slices.Clone(blocks), func(b model.Block) bool { return blank(b) || !c.expected(b) })
	if len(blocks) == 0 {
		return
	}
	if c.sent {
		c.history = *c.history.Prefix(c.history.Len() - 1)
		c.sent = false
	}
	c.media += weight(blocks)
	c.heard = append(c.heard, blocks...)
	slices.SortStableFunc(c.heard, func(a, b model.Block) int { return rank(a) - rank(b) })
}

// expected reports whether a block has a place in the conversation. A result has one, once,
// after its call.
func (c *conversation) expected(b model.Block) bool {
	if b.Type != model.ToolResult {
		return true
	}
	at := slices.Index(c.open, b.UseID)
	if at < 0 {
		return false
	}
	c.open = slices.Delete(c.open, at, at+1)
	return true
}

func rank(b model.Block) int {
	if b.Type == model.ToolResult {
		return 0
	}
	return 1
}

// ready returns the conversation with everything that was heard. It must not change while
// it is being sent.
func (c *conversation) ready() (*model.History, error) {
	c.close("it was abandoned")
	if !c.sent && len(c.heard) > 0 {
		if err := c.history.Append(model.Message{Role: model.User, Content: c.heard}); err != nil {
			return nil, err
		}
		c.sent, c.said = true, nil
	}
	return &c.history, nil
}

// answer adds an answer, which continues the last one if nothing was heard since. It
// reports whether there was anything in it.
func (c *conversation) answer(blocks []model.Block) (bool, error) {
	blocks = sendable(blocks)
	if len(blocks) == 0 {
		return false, nil
	}
	h := &c.history
	if c.said != nil {
		h, blocks = c.history.Prefix(c.history.Len()-1), append(slices.Clip(c.said), blocks...)
	}
	if err := h.Append(model.Message{Role: model.Assistant, Content: blocks}); err != nil {
		return false, err
	}
	c.history = *h
	c.heard, c.sent, c.said = nil, false, blocks
	c.open = uses(blocks)
	return true, nil
}

// close gives calls that are still open a result: a harness that forgot one must not make
// the conversation unusable.
func (c *conversation) close(why string) {
	for _, id := range slices.Clone(c.open) {
		c.hear(model.Block{Type: model.ToolResult, UseID: id, IsError: true,
			Content: tool.Text("The call has no result: " + why + ". Its effects are unknown.").Content})
	}
}

// uses returns the ids of the calls among blocks.
func uses(blocks []model.Block) (ids []string) {
	for _, b := range blocks {
		if b.Type == model.ToolUse {
			ids = append(ids, b.ID)
		}
	}
	return ids
}

// sendable returns the blocks of an answer in a form that can be sent back: no blank text,
// and no thought at the end, which an API takes for unfinished.
func sendable(blocks []model.Block) []model.Block {
	blocks = slices.DeleteFunc(slices.Clone(blocks), func(b model.Block) bool {
		return blank(b) || b.Raw != nil && !json.Valid(b.Raw)
	})
	for len(blocks) > 0 && thought(blocks[len(blocks)-1]) {
		blocks = blocks[:len(blocks)-1]
	}
	for i, b := range blocks {
		if b.Type == model.ToolUse {
			blocks[i].Input = object(b.Input)
		}
	}
	return blocks
}

// object returns the input of a call in a form that can be sent back: what is not a JSON
// object is wrapped in one.
func object(input json.RawMessage) json.RawMessage {
	if len(input) == 0 {
		return json.RawMessage("{}")
	}
	var o map[string]json.RawMessage
	if json.Unmarshal(input, &o) == nil && o != nil {
		return input
	}
	const most = 4000
	shown := strings.ToValidUTF8(string(input[:min(len(input), most)]), "\uFFFD")
	raw, err := json.Marshal(map[string]any{"__unparsedToolInput": map[string]any{"raw": shown, "len": len(input)}})
	if err != nil {
		return json.RawMessage("{}")
	}
	return raw
}

func blank(b model.Block) bool {
	return b.Type == model.Text && b.Raw == nil && strings.TrimSpace(b.Text) == ""
}

func thought(b model.Block) bool { return b.Type == model.Thinking || b.Type == model.RedactedThinking }

// text joins the text among blocks.
func text(blocks []model.Block) string {
	var texts []string
	for _, b := range blocks {
		if b.Type == model.Text && !blank(b) {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// reminder returns a message from the harness to the model, marked as such.
func reminder(s string) model.Block {
	return model.TextOf(reminderStart + strings.TrimSpace(s) + reminderEnd)
}

const (
	reminderStart = "<system-reminder>\n"
	reminderEnd   = "\n</system-reminder>"
)

// Reminders returns the reminders in a conversation, oldest first. It decodes only what may be
// a reminder: most of a conversation is results, and decoding them would make up most of the
// cost of a resume.
func Reminders(h *model.History) (notes []string) {
	if h == nil {
		return nil
	}
	for i := range h.Len() {
		raw := h.JSON(i)
		if !mayRemind(raw) {
			continue
		}
		var role, content []byte
		err := plainjson.Members(raw, func(name string, value []byte) error {
			switch name {
			case "role":
				role = value
			case "content":
				content = value
			}
			return nil
		})
		if err == nil && string(role) == `"user"` {
			notes = append(notes, remindersIn(content)...)
		}
	}
	return notes
}

// mayRemind reports whether a text in raw, a message or a part of it, begins as a reminder
// does. Its search begins with a byte that is rare, which makes it several times faster.
func mayRemind(raw []byte) bool {
	for {
		at := bytes.Index(raw, []byte("<system-reminder>"))
		if at < 0 {
			return false
		}
		if at > 0 && raw[at-1] == '"' {
			return true
		}
		raw = raw[at+1:]
	}
}

// remindersIn returns the blocks of a message that are reminders.
func remindersIn(content []byte) (notes []string) {
	take := func(blocks []model.Block, err error) error {
		for _, b := range blocks {
			note, begins := strings.CutPrefix(b.Text, reminderStart)
			if note, ends := strings.CutSuffix(note, reminderEnd); begins && ends {
				notes = append(notes, note)
			}
		}
		return err
	}
	if len(content) > 0 && content[0] == '"' {
		_ = take(model.ParseContent(content)) // a message that cannot be read reminds of nothing
		return notes
	}
	_ = plainjson.Elements(content, func(value []byte) error {
		if !mayRemind(value) {
			return nil
		}
		var b model.Block
		err := b.UnmarshalJSON(value)
		return take([]model.Block{b}, err)
	})
	return notes
}

package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
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
	// seen is after how many calls a result was heard that may be heard again, and calls is how
	// many there were.
	seen  map[[sha256.Size]byte]int
	calls int
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

// weight is how much blocks add to the media of a request: images, or pages.
func weight(blocks []model.Block) (n int) {
	replaceMedia(slices.Clone(blocks), func(m medium) string {
		n += max(1, m.pages())
		return ""
	})
	return n
}

// note remembers what a call returned.
func (c *conversation) note(out *sched.Outcome) {
	c.calls++
	if out.Result.Unchanged == "" {
		return
	}
	if c.seen == nil {
		c.seen = make(map[[sha256.Size]byte]int)
	}
	c.seen[repeatable(out)] = c.calls
}

// shown says where a result is that reads as this one; "" if the model cannot see one.
func (c *conversation) shown(out *sched.Outcome) string {
	at, ok := c.seen[repeatable(out)]
	if !ok {
		return ""
	}
	return plural.Of(c.calls-at+1, "call") + " ago"
}

// repeatable is a digest of a result and of what it is about.
func repeatable(out *sched.Outcome) [sha256.Size]byte {
	return sha256.Sum256([]byte(out.Tool + "\x00" + out.Result.Unchanged + "\x00" + out.Result.Text()))
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

// heedMedia does so with a conversation that was restored.
func (c *conversation) heedMedia(limit int) {
	c.rewrite(`"base64"`, func(blocks []model.Block) ([]model.Block, bool) { return heedMedia(blocks, limit) })
}

// thinMedia removes the oldest images and documents from the conversation if there are more
// than a request may have. It removes more than necessary, because each removal invalidates
// the provider's cache, and reports how many.
func (c *conversation) thinMedia(limit int) (gone int) {
	if limit <= 0 || c.media <= limit { // each medium counts at least once
		return 0
	}
	images, pages := 0, 0
	c.eachMedium(func(m medium) {
		if m.image {
			images++
		}
		pages += m.pages()
	})
	c.media = max(images, pages)
	keep := limit - limit/4
	dropImages, dropPages := 0, 0
	if images > limit {
		dropImages = images - keep
	}
	if pages > limit {
		dropPages = pages - keep
	}
	if dropImages+dropPages == 0 {
		return 0
	}
	c.replaceMedia(func(m medium) string {
		switch n := m.pages(); {
		case m.image && dropImages > 0:
			dropImages--
		case n > 0 && dropPages > 0:
			dropPages -= n
		default:
			return ""
		}
		gone++
		return fmt.Sprintf("[This %s was left out to make room for newer ones: the model accepts %d per request.]", m.kind(), limit)
	})
	c.media = keep
	return gone
}

// eachMedium visits the media of the conversation, oldest first.
func (c *conversation) eachMedium(visit func(medium)) {
	c.replaceMedia(func(m medium) string {
		visit(m)
		return ""
	})
}

// replaceMedia replaces media by texts, oldest first, where instead returns one.
func (c *conversation) replaceMedia(instead func(medium) string) bool {
	return c.rewrite(`"base64"`, func(blocks []model.Block) ([]model.Block, bool) {
		return blocks, replaceMedia(blocks, instead)
	})
}

// stripMedia replaces the images and documents that were added since the last answer or, if
// there are none, all in the conversation: one of them was refused. It returns the
// replacements, by digest.
func (c *conversation) stripMedia(with string) map[string]string {
	refused := map[string]string{}
	take := func(m medium) string {
		refused[m.digest()] = with
		return with
	}
	if c.heard != nil {
		heard := slices.Clone(c.heard)
		if replaceMedia(heard, take) {
			if c.sent {
				c.history = *c.history.Prefix(c.history.Len() - 1)
			}
			c.heard, c.sent = heard, false
			return refused
		}
	}
	c.replaceMedia(take)
	return refused
}

// withoutRefused takes out what an API has refused before.
func (c *conversation) withoutRefused(refused map[string]string) {
	if len(refused) > 0 {
		c.replaceMedia(func(m medium) string { return refused[m.digest()] })
	}
}

// rewrite changes the messages of the conversation that contain the given bytes. An
// unchanged message keeps its bytes.
func (c *conversation) rewrite(holding string, change func([]model.Block) ([]model.Block, bool)) (changed bool) {
	var h model.History
	last := c.history.Len() - 1
	for i := range c.history.Len() {
		raw := c.history.JSON(i)
		m, ok := rewritten(&c.history, i, holding, change)
		if !ok || h.Append(m) != nil {
			h.AppendJSON(raw)
			continue
		}
		changed = true
		if i == last && c.sent {
			c.heard = m.Content
		} else if i == last && c.said != nil {
			c.said = m.Content
		}
	}
	if !c.sent {
		if heard, ok := change(slices.Clone(c.heard)); ok {
			c.heard, changed = heard, true
		}
	}
	if changed {
		c.history = h
	}
	return changed
}

// rewritten returns a message after a change, and whether there was any.
func rewritten(h *model.History, i int, holding string, change func([]model.Block) ([]model.Block, bool)) (model.Message, bool) {
	if !bytes.Contains(h.JSON(i), []byte(holding)) {
		return model.Message{}, false
	}
	m, err := h.Message(i)
	if err != nil {
		return m, false
	}
	var changed bool
	m.Content, changed = change(m.Content)
	return m, changed && len(m.Content) > 0
}

// stripThoughts removes all thoughts from the conversation, because another provider may
// not accept their signatures. It reports whether there were any.
func (c *conversation) stripThoughts() (found bool) {
	return c.rewrite(`thinking"`, func(blocks []model.Block) ([]model.Block, bool) {
		before := len(blocks)
		blocks = slices.DeleteFunc(blocks, thought)
		return blocks, len(blocks) < before
	})
}

// introduces reports whether a result in the conversation loads a tool, or says how to call
// it.
func (c *conversation) introduces(name string) bool {
	reference, hint := []byte(`"tool_name":"`+name+`"`), []byte(`{\"tool\": \"`+name+`\"`)
	for i := range c.history.Len() {
		if raw := c.history.JSON(i); bytes.Contains(raw, reference) || bytes.Contains(raw, hint) {
			return true
		}
	}
	return false
}

// settleReferences keeps references only to tools that set loads by reference, and nothing
// beside them. Others are replaced by what ToolSearch would say now.
func (c *conversation) settleReferences(set *tool.Set) {
	c.rewrite(`"tool_reference"`, func(blocks []model.Block) (_ []model.Block, changed bool) {
		for i, b := range blocks {
			if b.Type != model.ToolResult || !slices.ContainsFunc(b.Content, isReference) {
				continue
			}
			if content := settled(set, b.Content); !slices.EqualFunc(content, b.Content, sameBlock) {
				blocks[i].Content, changed = content, true
			}
		}
		return blocks, changed
	})
}

func isReference(b tool.Block) bool { return b.Type == tool.ReferenceBlock }

func sameBlock(a, b tool.Block) bool {
	return a.Type == b.Type && a.Text == b.Text && a.MediaType == b.MediaType && bytes.Equal(a.Data, b.Data)
}

func settled(set *tool.Set, content []tool.Block) []tool.Block {
	var references []tool.Block
	var lines []string
	for _, b := range content {
		t := set.Lookup(b.Text)
		switch {
		case !isReference(b):
		case t == nil:
			lines = append(lines, fmt.Sprintf("The tool %s was found, but is no longer available.", b.Text))
		case set.References() && set.Described(t.Name):
			references = append(references, b)
		case set.Described(t.Name) && !set.References():
			lines = append(lines, fmt.Sprintf("The tool %s was found.", t.Name))
		default:
			lines = append(lines, fmt.Sprintf("The tool %s was found: %s", t.Name, set.Hint(t)))
		}
	}
	if references != nil {
		return references
	}
	return tool.Text(strings.Join(lines, "\n")).Content
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

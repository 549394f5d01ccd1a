package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// fold builds a conversation from a chain of lines, first to last. Calls are the known
// steps of calls, by tool_use id; beside are lines that follow a message of the chain
// without being part of it.
func fold(chain, beside []*line, calls map[string][]Call) (messages []model.Message, lost []use) {
	f := folder{latest: map[string]*use{}}
	said := make([]*Message, len(chain))
	for i, l := range chain {
		if m, err := l.message(); err == nil && m.Error == "" {
			said[i] = m
			f.pair(m, l)
		}
	}
	f.pairBeside(chain, beside)
	for i, m := range said {
		if m != nil {
			f.say(m, chain[i])
		}
	}
	f.close()
	for _, u := range f.uses {
		if u.result != nil {
			continue
		}
		steps := calls[u.block.ID]
		if len(steps) > 0 {
			u.call = steps[len(steps)-1]
		} else {
			u.call = Call{UseID: u.block.ID, Tool: u.block.Name}
		}
		lost = append(lost, *u)
	}
	return f.finish(calls), lost
}

// A use is a tool_use and its result, nil if it is lost.
type use struct {
	block  model.Block
	line   *line
	result *model.Block
	call   Call
}

// A folder assembles messages. The blocks of one answer are in several lines, with the
// results of its first calls between them.
type folder struct {
	uses   []*use          // in order
	latest map[string]*use // by tool_use id; small servers use ids again
	next   int             // first use that was not said yet

	out    []piece
	answer *piece // the answer that is being assembled
	id     string // its message id
}

// A piece is a message that is being built. Its results are filled in at the end.
type piece struct {
	role   model.Role
	blocks []model.Block
	uses   []*use // of an answer; the results follow it
}

// pair records the calls of a message and assigns results to earlier calls.
func (f *folder) pair(m *Message, l *line) {
	for i, b := range m.Content {
		switch b.Type {
		case model.ToolUse:
			u := &use{block: b, line: l}
			f.uses = append(f.uses, u)
			f.latest[b.ID] = u
		case model.ToolResult:
			if u := f.latest[b.UseID]; u != nil && u.result == nil {
				u.result = &m.Content[i]
			}
		}
	}
}

// pairBeside finds results in lines that branch off the chain, as other programs write
// those of parallel calls.
func (f *folder) pairBeside(chain, beside []*line) {
	if !slices.ContainsFunc(f.uses, func(u *use) bool { return u.result == nil }) {
		return
	}
	on := map[string]bool{}
	for _, l := range chain {
		on[l.UUID] = true
	}
	for _, l := range beside {
		if l.Type != "user" || !on[l.parent()] {
			continue
		}
		if m, err := l.message(); err == nil {
			f.pair(&Message{Content: resultsOf(m.Content)}, l)
		}
	}
}

func resultsOf(blocks []model.Block) []model.Block {
	return slices.DeleteFunc(slices.Clone(blocks), func(b model.Block) bool { return b.Type != model.ToolResult })
}

// say adds a message of the chain.
func (f *folder) say(m *Message, l *line) {
	if m.Role == model.Assistant {
		if f.answer == nil || m.ID == "" || m.ID != f.id {
			f.close()
			f.answer, f.id = &piece{role: model.Assistant}, m.ID
		}
		for _, b := range m.Content {
			f.answer.blocks = append(f.answer.blocks, b)
			if b.Type == model.ToolUse {
				f.answer.uses = append(f.answer.uses, f.uses[f.next])
				f.next++
			}
		}
		return
	}
	rest := slices.DeleteFunc(slices.Clone(m.Content), func(b model.Block) bool {
		return b.Type == model.ToolResult || b.Type == model.Text && b.Text == ""
	})
	if len(rest) > 0 {
		f.close()
		f.out = append(f.out, piece{role: model.User, blocks: rest})
	}
}

// close ends the answer that is being assembled.
func (f *folder) close() {
	if f.answer == nil {
		return
	}
	f.answer.blocks = sendable(f.answer.blocks)
	if len(f.answer.blocks) > 0 {
		f.out = append(f.out, *f.answer)
	}
	f.answer = nil
}

// sendable drops what a provider refuses: empty texts, and thoughts after which an answer
// broke off.
func sendable(blocks []model.Block) []model.Block {
	blocks = slices.DeleteFunc(blocks, func(b model.Block) bool {
		return b.Type == model.Text && strings.TrimSpace(b.Text) == ""
	})
	for len(blocks) > 0 {
		last := blocks[len(blocks)-1].Type
		if last != model.Thinking && last != model.RedactedThinking {
			break
		}
		blocks = blocks[:len(blocks)-1]
	}
	return blocks
}

// finish puts the results behind their calls and makes the roles alternate.
func (f *folder) finish(calls map[string][]Call) []model.Message {
	var out []model.Message
	add := func(role model.Role, blocks []model.Block) {
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(slices.Clip(out[n-1].Content), blocks...)
			return
		}
		if len(out) == 0 && role == model.Assistant {
			out = append(out, model.Message{Role: model.User, Content: []model.Block{model.TextOf(beginningLost)}})
		}
		out = append(out, model.Message{Role: role, Content: blocks})
	}
	for _, p := range f.out {
		add(p.role, p.blocks)
		if len(p.uses) > 0 {
			add(model.User, results(p.uses, calls))
		}
	}
	return out
}

func results(uses []*use, calls map[string][]Call) []model.Block {
	blocks := make([]model.Block, len(uses))
	for i, u := range uses {
		if u.result != nil {
			blocks[i] = *u.result
			continue
		}
		blocks[i] = model.Block{Type: model.ToolResult, UseID: u.block.ID, IsError: true,
			Content: []tool.Block{{Type: tool.TextBlock, Text: fate(u.block.Name, calls[u.block.ID])}}}
	}
	return blocks
}

const beginningLost = "[The beginning of this conversation could not be read from the session's file.]"

// fate says what is known of a call whose result was lost.
func fate(name string, steps []Call) string {
	for _, c := range steps {
		if c.Step != Dispatched {
			continue
		}
		switch c.Effect {
		case tool.Pure:
			return fmt.Sprintf("[%s was interrupted: the session ended while it ran. It changes nothing; call it again if the answer is still needed.]", name)
		case tool.Idempotent, tool.Keyed:
			return fmt.Sprintf("[%s was interrupted: the session ended while it ran, and its outcome is unknown. Repeating it is safe.]", name)
		}
		return fmt.Sprintf("[%s was interrupted: the session ended while it ran, and its outcome is unknown. It may have happened in full, in part or not at all: check before you repeat it.]", name)
	}
	return fmt.Sprintf("[%s never ran: the session ended before it started. Nothing was changed; call it again if it is still needed.]", name)
}

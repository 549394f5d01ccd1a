package agent

import (
	"bytes"
	"crypto/rand"
	"strings"

	"github.com/haftdev/haft/model"
)

// A naming makes sure that the calls of a conversation have ids that can be sent back.
// Providers refuse a conversation in which two calls have the same id, or in which an id or
// a tool's name has characters that they do not use themselves, and then the conversation
// can never continue. Some models, and servers that imitate a provider, make up such ids,
// or have none at all.
type naming struct {
	used   map[string]bool // ids of calls that are part of the conversation
	chosen map[int]string  // ids of the answer that arrives, by the block's index
	taken  map[string]bool // the same ids
}

// load adds the ids of a restored conversation. Every call in it has a result, which names
// it.
func (n *naming) load(h *model.History) {
	n.used = make(map[string]bool)
	if h == nil {
		return
	}
	const mark = `"tool_use_id":"`
	for i := range h.Len() {
		for rest := h.JSON(i); ; {
			_, after, found := bytes.Cut(rest, []byte(mark))
			if !found {
				break
			}
			id, _, _ := bytes.Cut(after, []byte(`"`))
			n.used[string(id)] = true
			rest = after
		}
	}
}

// next keeps the ids of the last answer, and gets ready for another.
func (n *naming) next() { n.chosen, n.taken = make(map[int]string), make(map[string]bool) }

// begin begins an answer, or begins it again.
func (n *naming) begin() {
	for _, id := range n.chosen {
		delete(n.used, id)
	}
	n.next()
}

// open names a call that begins to arrive.
func (n *naming) open(index int, b *model.Block) {
	if b.Type != model.ToolUse {
		return
	}
	if !nameable(b.ID) || n.used[b.ID] || n.taken[b.ID] {
		b.ID = "toolu_" + rand.Text()
	}
	n.chosen[index] = b.ID
	n.taken[b.ID] = true
	b.Name = usableName(b.Name)
}

// close gives a call that has arrived the name that it has.
func (n *naming) close(index int, b *model.Block) {
	if id, ok := n.chosen[index]; ok && b.Type == model.ToolUse {
		b.ID, b.Name = id, usableName(b.Name)
		n.used[id] = true
	}
}

// maxName is how long providers let ids and names be.
const maxName = 128

// nameable reports whether providers take an id.
func nameable(id string) bool {
	return id != "" && len(id) <= maxName && strings.IndexFunc(id, unusual) < 0
}

func unusual(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
}

// usableName is a tool's name with what cannot be sent replaced. No tool has such a name,
// so the model is told that it does not exist.
func usableName(name string) string {
	if nameable(name) {
		return name
	}
	name = strings.Map(func(r rune) rune {
		if unusual(r) {
			return '_'
		}
		return r
	}, name)
	if name == "" {
		return "unnamed"
	}
	return name[:min(len(name), maxName)]
}

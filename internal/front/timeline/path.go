package timeline

import (
	"hash/maphash"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// A path is the messages of the main conversation, to find those that it went back from. It
// is kept for every message of a session, so it is small.
type path struct {
	seed  maphash.Seed
	marks []mark
	tail  int // the mark that the next message follows; -1 if there is none
}

// A mark is a message.
type mark struct {
	id     uint64 // the hash of its UUID
	before int32  // the mark that it follows; -1 if there is none
	items  int32  // how many items there were with it
}

func newPath() path { return path{seed: maphash.MakeSeed(), tail: -1} }

// add notes a message, after which there are so many items.
func (p *path) add(e *session.Followed, items int) {
	if e.Agent != "" || e.UUID == "" || e.Message == nil && e.Compaction == nil {
		return
	}
	p.marks = append(p.marks, mark{maphash.String(p.seed, e.UUID), int32(p.tail), int32(items)})
	p.tail = len(p.marks) - 1
}

// find is the mark of a message, -1 if it is not known.
func (p *path) find(uuid string) int {
	id := maphash.String(p.seed, uuid)
	for n := len(p.marks) - 1; n >= 0; n-- {
		if p.marks[n].id == id {
			return n
		}
	}
	return -1
}

// turnsBack is the mark that the conversation goes back to with an entry, -1 if it does not.
// Only a prompt can: results of calls that ran at the same time follow their own calls.
func (p *path) turnsBack(e *session.Followed) int {
	if e.Agent != "" || e.Parent == "" || e.Back == nil && !prompts(e.Message) {
		return -1
	}
	if p.tail >= 0 && p.marks[p.tail].id == maphash.String(p.seed, e.Parent) {
		return -1
	}
	return p.find(e.Parent)
}

func prompts(m *session.Message) bool {
	if m == nil || m.Role != model.User {
		return false
	}
	for n := range m.Content {
		if m.Content[n].Type == model.ToolResult {
			return false
		}
	}
	return true
}

package session

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/haftdev/haft/model"
)

// titleState is the state that names the session to people.
const titleState = "title"

// A tally is what the lines of a conversation add up to. It is the same whether
// they are read or written.
type tally struct {
	messages int
	states   map[string]json.RawMessage
	usage    map[string]model.Usage // of finished answers, by model
	title    string
	model    string // that answered last

	answer stop   // the last answer; its usage grows with its blocks
	recent []link // the last messages, for taking some back
}

// A link is a message and the one before it.
type link struct{ uuid, parent string }

const recentLinks = 256

func (t *tally) add(l *line) {
	x := l.extra()
	switch {
	case x.Snapshot != nil:
		*t = tally{recent: t.recent, model: t.model}
		t.restore(x.Snapshot)
	case x.State != nil:
		t.set(x.State.Name, x.State.Value)
	case x.Stop != nil:
		t.answered(*x.Stop)
	case l.CustomTitle != "":
		t.title = l.CustomTitle
	}
	if !l.inChain() {
		return
	}
	if t.recent = append(t.recent, link{l.UUID, l.parent()}); len(t.recent) > 2*recentLinks {
		t.recent = slices.Clone(t.recent[recentLinks:])
	}
	if l.isBoundary() {
		return
	}
	t.messages++
	if l.Type == "assistant" && !l.IsAPIError {
		var m stop
		if json.Unmarshal(l.Message, &m) == nil {
			t.answered(m)
		}
	}
}

func (t *tally) set(name string, value json.RawMessage) {
	if t.states == nil {
		t.states = map[string]json.RawMessage{}
	}
	t.states[name] = value
	if string(value) == "null" {
		delete(t.states, name)
	}
	if name == titleState {
		var title string
		if json.Unmarshal(value, &title) == nil {
			t.title = title
		}
	}
}

// answered notes what an answer has cost so far.
func (t *tally) answered(a stop) {
	if a.ID != t.answer.ID || a.ID == "" {
		t.usage = t.total()
		t.answer = stop{}
	}
	if a.Model != "" {
		t.model = a.Model
	} else {
		a.Model = t.answer.Model
	}
	if a.Usage == (model.Usage{}) {
		a.Usage = t.answer.Usage
	}
	t.answer = a
}

// total is the usage with that of the last answer.
func (t *tally) total() map[string]model.Usage {
	sum := maps.Clone(t.usage)
	if t.answer.Usage == (model.Usage{}) {
		return sum
	}
	if sum == nil {
		sum = map[string]model.Usage{}
	}
	sum[t.answer.Model] = sum[t.answer.Model].Add(t.answer.Usage)
	return sum
}

func (t *tally) snapshot() *snapshot {
	return &snapshot{Messages: t.messages, States: maps.Clone(t.states), Usage: t.total(), Title: t.title}
}

func (t *tally) restore(s *snapshot) {
	t.messages, t.usage, t.title = s.Messages, maps.Clone(s.Usage), s.Title
	t.states = maps.Clone(s.States)
}

// before returns the last message of the chain that ends at tail which is not
// among those that are taken back.
func (t *tally) before(tail string, retracted []string) string {
	for _, l := range slices.Backward(t.recent) {
		if l.uuid == tail && slices.Contains(retracted, tail) {
			tail = l.parent
		}
	}
	return tail
}

package session

import (
	"encoding/json"
	"maps"

	"github.com/haftdev/haft/model"
)

// titleState is the state that names the session to people.
const titleState = "title"

// StateSpent is the state that records what was used apart from the answers. It only grows:
// going back to an earlier message does not reduce it.
const StateSpent = "beside"

// StateFiles is the state that records where the files of the session are stored, if they are
// not on one machine. Going back to an earlier message does not change it. A fork has the
// files of the message that it begins after.
const StateFiles = "files"

// syntheticModel is what messages name as their model that no model has said.
const syntheticModel = "<synthetic>"

// A tally is what the lines of a conversation add up to. It is the same whether
// they are read or written.
type tally struct {
	messages int
	states   map[string]json.RawMessage
	usage    map[string]model.Usage // of finished answers, by model
	title    string
	model    string // that answered last

	answer stop // the last answer; its usage grows with its blocks
}

func (t *tally) add(l *line) {
	x := l.extra()
	switch {
	case x.Snapshot != nil:
		*t = tally{model: t.model}
		t.restore(x.Snapshot)
	case x.State != nil:
		t.set(x.State.Name, x.State.Value)
	case x.Stop != nil:
		t.answered(*x.Stop)
	case l.CustomTitle != "":
		t.title = l.CustomTitle
	}
	if !l.isMessage() {
		return
	}
	t.messages++
	if l.Type == "assistant" && !l.IsAPIError {
		t.answered(l.answer())
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
	if a.Model == syntheticModel {
		a.Model = ""
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

// leftBehind counts an answer that is not part of the conversation since it went back: it
// has cost what it has cost.
func (t *tally) leftBehind(l *line) {
	if l.Type != "assistant" || l.IsAPIError || l.sidechain() {
		return
	}
	known := t.model
	t.answered(l.answer())
	t.model = known
}

func (t *tally) kept() keptTally {
	return keptTally{t.messages, t.states, t.usage, t.title, t.model, t.answer}
}

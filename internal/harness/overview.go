package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/models/catalog"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// An Overview is what a session was about, turn by turn, and what it cost.
type Overview struct {
	// Turns are the user's prompts, oldest first, including abandoned ones: they were paid
	// for too.
	Turns []Turn
	// Cost is in US dollars; Unpriced says that a model without a known price answered too.
	Cost     float64
	Unpriced bool
	// Last is what was said at the end, oldest first.
	Last []session.Entry
}

// A Turn is one prompt and what it cost, agents included.
type Turn struct {
	Prompt string
	When   time.Time
	Cost   float64
}

// lookLast is how many messages at the end of a session are kept.
const lookLast = 20

// Look reads a session's file.
func Look(ctx context.Context, path string) (Overview, error) {
	r := reader{asked: map[string]string{}}
	for e, err := range session.Entries(ctx, path) {
		if err != nil {
			return Overview{}, err
		}
		if e.Agent == "" {
			r.take(e)
		}
	}
	return r.overview(), nil
}

// A reader sums up the entries of a session.
type reader struct {
	turns  []usedTurn
	asked  map[string]string // the name with a price, by the name that answered
	beside map[string]model.Usage
	said   []session.Entry
}

// usedTurn is a turn with the usage of each answer in it, by message, and other usage.
type usedTurn struct {
	Turn
	answers map[string]answerUse
	before  map[string]model.Usage // beside, when it began
}

type answerUse struct {
	model string
	model.Usage
}

func (r *reader) take(e session.Entry) {
	switch {
	case e.State != nil && e.State.Name == agent.StateBeside:
		var beside map[string]model.Usage
		if json.Unmarshal(e.State.Value, &beside) == nil {
			r.beside = beside
		}
	case e.State != nil:
		if name, ok := strings.CutPrefix(e.State.Name, agent.StateAsked); ok {
			var asked string
			_ = json.Unmarshal(e.State.Value, &asked) // a name that cannot be read is not known
			r.asked[name] = asked
		}
	case e.Message != nil:
		r.message(e)
	case e.Back != nil && e.Agent == "":
		r.said = append(r.said, e) // it leads to what was said before it
	}
}

func (r *reader) message(e session.Entry) {
	m := e.Message
	if said := Typed(m.Content); m.Role == model.User && !m.Synthetic && said != "" {
		r.turns = append(r.turns, usedTurn{Turn{Prompt: said, When: e.Time}, map[string]answerUse{}, r.beside})
	}
	if !m.Synthetic {
		if r.said = append(r.said, e); len(r.said) > 2*lookLast {
			r.said = slices.Clone(r.said[lookLast:])
		}
	}
	if m.Role == model.Assistant && m.Usage != (model.Usage{}) && len(r.turns) > 0 {
		r.turns[len(r.turns)-1].answers[cmp.Or(m.ID, e.UUID)] = answerUse{m.Model, m.Usage} // it grows with the blocks
	}
}

func (r *reader) overview() Overview {
	o := Overview{Last: branch(r.said)}
	price := func(name string, u model.Usage) float64 {
		usd, known := catalog.Lookup(cmp.Or(r.asked[name], name)).Cost(u)
		o.Unpriced = o.Unpriced || !known
		return usd
	}
	sum := func(used map[string]model.Usage) (usd float64) {
		for _, name := range slices.Sorted(maps.Keys(used)) {
			usd += price(name, used[name])
		}
		return usd
	}
	for i, t := range r.turns {
		for _, id := range slices.Sorted(maps.Keys(t.answers)) {
			t.Cost += price(t.answers[id].model, t.answers[id].Usage)
		}
		after := r.beside
		if i+1 < len(r.turns) {
			after = r.turns[i+1].before
		}
		t.Cost += sum(after) - sum(t.before)
		o.Cost += t.Cost
		o.Turns = append(o.Turns, t.Turn)
	}
	return o
}

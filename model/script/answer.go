package script

import (
	"fmt"
	"strings"

	"github.com/haftdev/haft/model"
)

// label begins the name of every model that answers here.
const label = "scripted"

// An answer is a turn as an API says it: a dialect gives each step's events.
type answer struct {
	Turn
	req   *Request
	id    string
	model string
	dialect
}

// A dialect puts the steps of an answer into the events of an API.
type dialect interface {
	start(*answer) []event
	open(i int, b *Block) []event
	delta(i int, b *Block, piece string) []event
	close(i int, b *Block) []event
	stop(*answer) []event
	failure(*Fault) []event
	whole(*answer) any
}

// An event is one of a stream, before it is encoded; one without a name is
// sent without. A string is sent as it is.
type event struct {
	name string
	data any
}

type object = map[string]any

func newAnswer(r *Request, turn Turn) *answer {
	a := &answer{Turn: turn, req: r, id: fmt.Sprintf("msg_scripted_%04d", r.Turn), model: label, dialect: messagesDialect{}}
	if r.Model != "" && !strings.HasPrefix(r.Model, label) {
		a.model = label + ":" + r.Model
	}
	switch r.API {
	case Chat:
		a.dialect = chatDialect{a.id, a.model}
	case Responses:
		a.dialect = responsesDialect{a.id, a.model}
	}
	a.Blocks = append([]Block(nil), turn.Blocks...) // they get names
	for i := range a.Blocks {
		if b := &a.Blocks[i]; b.Tool != "" && b.ID == "" {
			b.ID = fmt.Sprintf("toolu_%02d_%02d", r.Turn, i)
		}
	}
	if a.Stop == "" {
		a.Stop = a.reason()
	}
	if a.Usage == nil {
		a.Usage = a.estimate()
	}
	return a
}

func (a *answer) whole() any { return a.dialect.whole(a) }

func (a *answer) reason() model.StopReason {
	for i := range a.Blocks {
		if a.Blocks[i].Tool != "" {
			return model.StopToolUse
		}
	}
	return model.EndTurn
}

// estimate takes four bytes for a token.
func (a *answer) estimate() *model.Usage {
	said := 0
	for i := range a.Blocks {
		said += len(a.Blocks[i].said())
	}
	return &model.Usage{Input: int64(len(a.req.Body)/4 + 1), Output: int64(said/4 + 1)}
}

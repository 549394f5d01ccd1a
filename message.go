package haft

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/haftdev/haft/wire"
)

// A Message is something that happened: a pointer to one of the types below or
// of package wire, which has them all. A type of a newer version of the protocol
// is a *wire.Unknown.
// Its methods are those of [wire.Message].
type Message = wire.Message

// The messages that most programs need.
type (
	// Init opens every turn and lists tools, commands, agents and servers.
	// Its fields are those of [wire.Init].
	Init = wire.Init
	// Assistant is a finished block of the model's answer.
	// Its fields are those of [wire.Assistant].
	Assistant = wire.Assistant
	// User is a prompt, or a tool's result on its way to the model.
	// Its fields are those of [wire.User].
	User = wire.User
	// StreamEvent is a piece of an answer; see Options.PartialMessages.
	// Its fields are those of [wire.StreamEvent].
	StreamEvent = wire.StreamEvent
	// Result ends a turn.
	// Its fields are those of [wire.Result].
	Result = wire.Result
	// Block is a piece of content: text, a tool call, a tool's result, an image.
	// Its fields are those of [wire.Block].
	Block = wire.Block
)

// TextOf returns the text in a message of the model or the user.
func TextOf(m Message) string {
	switch m := m.(type) {
	case *Assistant:
		return wire.Content{Blocks: m.Message.Content}.String()
	case *User:
		return m.Message.Content.String()
	case *Result:
		return m.Result
	}
	return ""
}

// A ToolUse is a call that the model makes.
type ToolUse struct {
	ID, Name string
	Input    json.RawMessage
}

// ToolUses returns the calls in a message.
func ToolUses(m *Assistant) []ToolUse {
	var uses []ToolUse
	for _, b := range m.Message.Content {
		if b.Type == "tool_use" {
			uses = append(uses, ToolUse{b.ID, b.Name, b.Input})
		}
	}
	return uses
}

// A ToolAnswer is the result of a call as the model reads it.
type ToolAnswer struct {
	ToolUseID string
	Text      string
	Failed    bool
}

// ToolAnswers returns the results of calls in a message.
func ToolAnswers(m *User) []ToolAnswer {
	var answers []ToolAnswer
	for _, b := range m.Message.Content.All() {
		if b.Type != "tool_result" {
			continue
		}
		a := ToolAnswer{ToolUseID: b.ToolUseID, Failed: b.Failed()}
		if b.Content != nil {
			a.Text = b.Content.String()
		}
		answers = append(answers, a)
	}
	return answers
}

// ErrNoOutput is the error of [OutputOf] for a message without one.
var ErrNoOutput = errors.New("the message has no tool output")

// OutputOf returns the structured output of the call whose result m is, such as an
// [EditOutput]. A failed call has none; the error then says what went wrong.
func OutputOf[T any](m *User) (T, error) {
	var out T
	raw := m.ToolUseResult
	if len(raw) == 0 {
		return out, ErrNoOutput
	}
	var failure string
	if json.Unmarshal(raw, &failure) == nil {
		if s, ok := any(&out).(*string); ok {
			*s = failure
			return out, nil
		}
		return out, errors.New(strings.TrimPrefix(failure, "Error: "))
	}
	err := json.Unmarshal(raw, &out)
	return out, err
}

package agent

import (
	"context"
	"encoding/json"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// A Prompt is a message to the agent.
type Prompt struct {
	// UUID names the message; "" lets the agent choose.
	UUID    string
	Content []model.Block
	// Typed is set if Content came as a string and not as a list of blocks: the journal and
	// everything that repeats the prompt keep that form.
	Typed bool
	// Said is what the user typed, where Content is what that stands for; "" means Content.
	Said string
	// Sender is what a program says about who wrote the prompt, repeated with its result.
	Sender json.RawMessage
	// Priority says when the prompt is handled: the zero value joins a running turn at its
	// next boundary.
	Priority Priority
	// Change is what the prompt changes for its turn, as a typed command may; nil means
	// nothing.
	Change *tool.Change
	// Answer answers the prompt in place of the model, such as a separate agent that a command
	// asks for; nil means that the model answers. Such a prompt has a turn to itself. A text
	// that is returned with an error is part of the answer.
	Answer func(context.Context) (string, error)
	// Silent prompts join the conversation without asking the model for an answer.
	Silent bool
	// Origin is where the prompt comes from, if not from the user: see [TaskNotification].
	Origin string

	command string // compact or clear; Content is its argument
	task    string // whose end it reports
}

// Typed returns a text as a prompt.
func Typed(text string) Prompt {
	return Prompt{Content: []model.Block{model.TextOf(text)}, Typed: true}
}

// TaskNotification is the origin of a prompt that reports the end of a task.
const TaskNotification = "task-notification"

// Priority says when a prompt that arrives during a turn is handled.
type Priority string

const (
	// Next joins the running turn at its next boundary, when results go back.
	Next Priority = ""
	// Now ends the running turn at its next boundary and starts a new one.
	Now Priority = "now"
	// Later waits for the running turn to end.
	Later Priority = "later"
)

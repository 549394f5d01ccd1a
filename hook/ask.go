package hook

import (
	"time"
)

// A Question is what a hook asks a model: whether a condition is met.
type Question struct {
	// Event is what the hook is for, and Caller the sub-agent that it is about, or "".
	Event  Event
	Caller string
	// Text is the condition and the input of the hook.
	Text string
	// Model is the model to ask; "" means any.
	Model string
	// Agent lets an agent with tools find out.
	Agent bool
}

// AnswerForm tells a model how to answer a [Question].
const AnswerForm = `Answer with one JSON object and nothing else: {"ok": true, "reason": "..."} if the condition is met, or {"ok": false, "reason": "..."} if it is not. The reason is one sentence that says what is missing.`

// How long a model may take, and an agent, if the hook does not say.
const (
	modelTime = 30 * time.Second
	agentTime = time.Minute
)

// asked marks the work of an agent that a hook has started. Such an agent is not checked by
// another agent, which would need one in turn.
type asked struct{}

package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
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

// question puts the input where the prompt wants it, or at its end.
func question(prompt string, input []byte) string {
	const place = "$ARGUMENTS"
	if !strings.Contains(prompt, place) {
		prompt += "\n\nARGUMENTS: " + place
	}
	return strings.ReplaceAll(prompt, place, string(input))
}

// readOpinion finds the object in an answer. A model may put words or a fence around it, but
// an answer without one is an error: nobody knows what was meant.
func readOpinion(answer string) (Output, error) {
	var opinion struct {
		OK     *bool  `json:"ok"`
		Reason string `json:"reason"`
	}
	for at := strings.LastIndexByte(answer, '{'); at >= 0; at = strings.LastIndexByte(answer[:at], '{') {
		d := json.NewDecoder(bytes.NewReader([]byte(answer[at:])))
		if d.Decode(&opinion) == nil && opinion.OK != nil {
			break
		}
		opinion.OK = nil
	}
	switch {
	case opinion.OK == nil:
		return Output{}, &AnswerError{fmt.Errorf(`the model did not answer with {"ok": true} or {"ok": false}: %s`, quoteLine([]byte(answer), 0))}
	case *opinion.OK:
		return Output{}, nil
	}
	return Output{Decision: "block", Reason: "the condition of a hook is not met: " + orNoReason(opinion.Reason)}, nil
}

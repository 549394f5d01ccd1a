package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/schema"
)

// structuredName is the tool by which the model gives a structured answer.
const structuredName = "StructuredOutput"

// An answerForm is the form of the answer that the caller wants, as the input of a tool.
type answerForm struct {
	input   *schema.Schema
	names   schema.Names
	wrapped bool           // the answer is not an object, and is wrapped in one
	whole   *schema.Schema // what the answer must match; nil if input says it all
}

// wrapper is the property that holds an answer that is not an object.
const wrapper = "answer"

// newAnswerForm parses the caller's schema. Providers accept objects without alternatives:
// the model is shown such a form, and its answer is checked against the caller's schema.
func newAnswerForm(raw json.RawMessage) (*answerForm, error) {
	fail := func(err error) (*answerForm, error) {
		return nil, fmt.Errorf("schema of structured output: %w", err)
	}
	f := new(answerForm)
	if !json.Valid(raw) {
		return fail(fmt.Errorf("it is not JSON"))
	}
	portable, names, err := schema.Portable(raw)
	if err != nil {
		wrapped, wrapErr := json.Marshal(map[string]any{
			"type": "object", "properties": map[string]json.RawMessage{wrapper: raw}, "required": []string{wrapper}, "additionalProperties": false,
		})
		if wrapErr != nil {
			return fail(err)
		}
		raw, f.wrapped = wrapped, true
		if portable, names, wrapErr = schema.Portable(raw); wrapErr != nil {
			return fail(err)
		}
	}
	f.names = names
	if f.input, err = schema.Parse(portable); err == nil {
		err = f.input.Err()
	}
	if err != nil {
		return fail(err)
	}
	if string(portable) != string(raw) {
		f.whole, _ = schema.Parse(raw) // one that cannot be parsed is repaired, and that must do
	}
	return f, nil
}

// check says what is wrong with an answer that has the form.
func (f *answerForm) check(_ context.Context, c *tool.Call) *tool.Problem {
	if f.whole == nil {
		return nil
	}
	if _, _, err := f.whole.View(nil).Check(f.names.Back(c.Input)); err != nil {
		return &tool.Problem{Message: "The answer does not match the schema that was asked for: " + err.Error()}
	}
	return nil
}

// tool returns the tool whose input is the answer. The pipeline checks it like any other
// input.
func (f *answerForm) tool() tool.Tool {
	return tool.Tool{
		Name: structuredName,
		Describe: func(*tool.Session) string {
			return "Returns your final answer in the form that was asked for. Call it exactly once, when the work is done; the turn ends with it."
		},
		Input:    f.input,
		Validate: f.check,
		Marks: func(*tool.Call) tool.Marks {
			return tool.Marks{ReadOnly: true, ConcurrencySafe: true, Effect: tool.Pure}
		},
		Permission: func(context.Context, *tool.Call) tool.Verdict {
			return tool.Verdict{Behavior: tool.Allow, Reason: "it only returns the answer"}
		},
		Run: func(context.Context, *tool.Call) (tool.Result, error) {
			return tool.Text("The structured output was received."), nil
		},
	}
}

// answer returns the caller's answer in an input of the tool.
func (f *answerForm) answer(input json.RawMessage) json.RawMessage {
	input = f.names.Back(input)
	if f.wrapped {
		var members map[string]json.RawMessage
		if json.Unmarshal(input, &members) == nil && members[wrapper] != nil {
			return members[wrapper]
		}
	}
	return input
}

// How often the model is helped to give a structured answer.
const (
	structuredReminders = 1
	structuredTries     = 5
)

const structuredReminder = "You have not returned your answer yet: call the " + structuredName + " tool with it now."

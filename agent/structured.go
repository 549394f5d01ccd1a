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

// structuredTool returns the tool whose input is the answer that the caller wants.
// The pipeline checks it like any other input.
func structuredTool(raw json.RawMessage) (tool.Tool, error) {
	s, err := schema.Parse(raw)
	if err == nil {
		err = s.Err()
	}
	if err != nil {
		return tool.Tool{}, fmt.Errorf("schema of the structured output: %w", err)
	}
	return tool.Tool{
		Name: structuredName,
		Describe: func(*tool.Session) string {
			return "Returns your final answer in the form that was asked for. Call it exactly once, when the work is done; the turn ends with it."
		},
		Input: s,
		Marks: func(*tool.Call) tool.Marks {
			return tool.Marks{ReadOnly: true, ConcurrencySafe: true, Effect: tool.Pure}
		},
		Permission: func(context.Context, *tool.Call) tool.Verdict {
			return tool.Verdict{Behavior: tool.Allow, Reason: "it only gives the answer"}
		},
		Run: func(context.Context, *tool.Call) (tool.Result, error) {
			return tool.Text("The structured output was received."), nil
		},
	}, nil
}

// How often the model is helped to give a structured answer.
const (
	structuredReminders = 1
	structuredTries     = 5
)

const structuredReminder = "You have not given your answer yet: call the " + structuredName + " tool with it now."

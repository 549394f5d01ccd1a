package ask

import (
	"context"
	"fmt"

	"github.com/haftdev/haft/tool"
)

// A Classifier answers for the mode auto: it shows a model what a tool says about
// a call, and allows what the model finds safe. What it does not find safe it
// leaves to the others who are asked, and what a rule wants asked as well.
type Classifier struct {
	// On reports whether the session is in that mode.
	On func() bool
	// Safe judges the text that a tool gives about a call.
	Safe func(ctx context.Context, tool, text string) (bool, error)
}

// Ask judges the call, or has no view.
func (c Classifier) Ask(ctx context.Context, cs tool.Case, question tool.Verdict) (tool.Verdict, error) {
	if !c.On() || question.Rule != "" || cs.Tool == nil || cs.Tool.Classify == nil {
		return tool.Verdict{}, nil
	}
	text := cs.Tool.Classify(cs.Call)
	if text == "" {
		return tool.Verdict{}, nil
	}
	safe, err := c.Safe(ctx, cs.Tool.Name, text)
	if err != nil {
		return tool.Verdict{}, fmt.Errorf("ask the classifier: %w", err)
	}
	if !safe {
		return tool.Verdict{Reason: "the classifier does not consider it safe"}, nil
	}
	return tool.Verdict{Behavior: tool.Allow, Reason: "the classifier considers it safe"}, nil
}

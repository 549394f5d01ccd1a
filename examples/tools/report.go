package main

import (
	"context"
	"fmt"
	"time"

	"github.com/haftdev/haft/tool"
)

type report struct {
	Steps int `json:"steps" jsonschema:"How many steps of a tenth of a second to take." haft:"min=1;max=6000;example=3"`
}

// buildReport takes long. It reports how far it is, and ends when it is cancelled.
func buildReport() tool.Tool {
	return tool.New(tool.Def[report, string]{
		Name:        "BuildReport",
		Description: "Builds a report, which takes long.",
		Marks:       func(report) tool.Marks { return tool.Marks{ReadOnly: true, ConcurrencySafe: true, Effect: tool.Pure} },
		Permission: func(context.Context, *tool.Call, report) tool.Verdict {
			return tool.Verdict{Behavior: tool.Allow, Reason: "a report changes nothing"}
		},
		Run: func(ctx context.Context, c *tool.Call, in report) (string, error) {
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			for step := range in.Steps {
				select {
				case <-ctx.Done():
					return "", ctx.Err()
				case <-tick.C:
				}
				c.Report(tool.TextProgress{Text: fmt.Sprintf("step %d of %d", step+1, in.Steps)})
			}
			return fmt.Sprintf("The report took %d steps.", in.Steps), nil
		},
	})
}

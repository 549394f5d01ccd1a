// Package sleep provides the Sleep tool, which waits.
//
// Trust: it touches nothing.
package sleep

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/haftdev/haft/tool"
)

//go:embed sleep.md
var description string

// callInput is what the model sends.
type callInput struct {
	Duration int64 `json:"duration_ms" jsonschema:"How long to wait, in milliseconds." haft:"min=0;max=600000;example=5000"`
}

// callOutput is what programs get.
type callOutput struct {
	Slept int64 `json:"slept_ms"`
}

// New returns the tool.
func New() tool.Tool {
	return tool.New(tool.Def[callInput, callOutput]{
		Name:        "Sleep",
		SearchHint:  "wait pause delay timer poll",
		Description: description,
		Marks: func(callInput) tool.Marks {
			return tool.Marks{ReadOnly: true, ConcurrencySafe: true, Polling: true, Effect: tool.Pure}
		},
		Permission: func(context.Context, *tool.Call, callInput) tool.Verdict {
			return tool.Verdict{Behavior: tool.Allow, Reason: "waiting changes nothing"}
		},
		Run:       run,
		Render:    func(out callOutput) tool.Result { return tool.Text(fmt.Sprintf("Slept for %s.", millis(out.Slept))) },
		Summarize: func(in callInput) string { return millis(in.Duration).String() },
		Deferred:  true,
	})
}

func run(ctx context.Context, c *tool.Call, in callInput) (callOutput, error) {
	began := time.Now()
	end := time.NewTimer(millis(in.Duration))
	defer end.Stop()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		select {
		case <-end.C:
			return callOutput{Slept: time.Since(began).Milliseconds()}, nil
		case <-second.C:
			passed := time.Since(began).Round(time.Second)
			c.Report(tool.TextProgress{Text: fmt.Sprintf("slept %s of %s", passed, millis(in.Duration)), Elapsed: passed})
		case <-ctx.Done():
			return callOutput{}, ctx.Err()
		}
	}
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

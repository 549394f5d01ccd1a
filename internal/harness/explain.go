package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// An Explanation says what the pipeline would decide about a call.
type Explanation struct {
	permission.Decision
	// Notes are what else matters: the tool's own objections to the call, and hooks that were
	// not run.
	Notes []string
}

// Explain takes a call through the pipeline up to its verdict; see [sched.Scheduler.DryRun]. A
// call that would get no verdict is an error. A tool of an MCP server that is not in the set is
// judged by its name.
func (w *World) Explain(ctx context.Context, set *tool.Set, name string, input json.RawMessage) (Explanation, error) {
	p := w.Engine.Policy()
	if set.Lookup(name) == nil && strings.HasPrefix(name, "mcp__") {
		d := p.Decide(tool.Case{Call: &tool.Call{Tool: name, Input: input}})
		return Explanation{d, []string{"judged by the tool's name alone: its server was not started"}}, nil
	}
	var d permission.Decision
	seen := sched.New(&sched.Options{Dir: w.Shell.Dir, Judge: sched.JudgeFunc(func(_ context.Context, c tool.Case) tool.Verdict {
		d = p.Decide(c)
		return d.Verdict
	})}).DryRun(ctx, set, name, input)
	if out := seen.Refused; out != nil {
		return Explanation{}, errors.New(out.Result.Text())
	}
	e := Explanation{Decision: permission.Decision{Verdict: seen.Verdict, ReadOnly: d.ReadOnly}}
	if seen.Problem != nil {
		e.Notes = append(e.Notes, "it would not run with this input: "+seen.Problem.Message)
	}
	for _, r := range w.Hooks.Concerning(set.Lookup(name), seen.Call) {
		note := fmt.Sprintf("not run here, but could change the verdict: the %s hook %s", r.Event, r.Hook)
		if r.Origin != "" {
			note += " (" + r.Origin + ")"
		}
		e.Notes = append(e.Notes, note)
	}
	return e, nil
}

// startPatience is how long an explanation waits for MCP servers that are starting.
const startPatience = 10 * time.Second

// Explain is [World.Explain] for a call of the conversation's model.
func (c *Conversation) Explain(ctx context.Context, name string, input json.RawMessage) (Explanation, error) {
	if strings.HasPrefix(name, "mcp__") && c.everyTool().Lookup(name) == nil && c.MCP.Any() {
		if host, err := c.MCP.Open(); err == nil {
			ctx, cancel := context.WithTimeout(ctx, startPatience)
			_ = host.Wait(ctx) // without its server, a tool is judged by its name
			cancel()
		}
	}
	return c.World.Explain(ctx, c.everyTool(), name, input)
}

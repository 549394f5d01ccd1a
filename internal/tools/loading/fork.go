package loading

import (
	"context"

	"github.com/haftdev/haft/internal/tools/subagent"
	"github.com/haftdev/haft/tool"
)

// Forked is what programs get of a text that an agent of its own has done. The names are
// those of Claude Code.
type Forked struct {
	Status  string `json:"status,omitempty"` // forked
	AgentID string `json:"agentId,omitempty"`
	Report  string `json:"result,omitempty"`

	report subagent.Report
}

// Result is how the report reads to the model; it reports false if the text was loaded.
func (f Forked) Result(t Text) (r tool.Result, ok bool) {
	if f.Status == "" {
		return r, false
	}
	r = f.report.Result()
	r.Content[0].Text = "A separate agent carried out the " + t.Kind + " " + t.Name + ". Its report:\n\n" + r.Content[0].Text
	return r, true
}

// MayFork reports whether a call can let an agent do a text: where its caller can start
// agents. Elsewhere the text is loaded like any other.
func MayFork(crew subagent.Crew, c *tool.Call) bool {
	return crew != nil && c.Tools != nil && c.Tools.Lookup("Agent") != nil
}

// CheckFork says why there can be no such agent; nil if there can, or if none is asked for.
func CheckFork(crew subagent.Crew, c *tool.Call, f *subagent.Fork) *tool.Problem {
	if f == nil || !MayFork(crew, c) {
		return nil
	}
	return f.Check(crew)
}

// Marks lets other calls run while an agent does a text. An agent that works in a copy of
// the repository gets a branch in it.
func Marks(crew subagent.Crew, f *subagent.Fork) tool.Marks {
	return tool.Marks{ReadOnly: f == nil || crew == nil || !f.Isolated(crew), ConcurrencySafe: f != nil}
}

// Fork lets an agent do the text, and waits for it.
func Fork(ctx context.Context, crew subagent.Crew, c *tool.Call, f *subagent.Fork) Forked {
	r := f.Run(ctx, crew, c)
	return Forked{Status: "forked", AgentID: r.ID, Report: r.Text, report: r}
}

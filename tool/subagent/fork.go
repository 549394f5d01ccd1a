package subagent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/tool"
)

// A Text is a skill or a command that an agent does in the place of its caller. What it
// allows itself, and its hooks, hold for that agent and as long as it works.
type Text struct {
	Kind   string `json:"kind"` // skill or command
	Name   string `json:"name"`
	Digest string `json:"digest"` // of what was decided about
}

// A Fork is a text that asks for an agent of its own.
type Fork struct {
	Text
	// Agent is its kind; "" means the general one. Model is what it runs on; "" means what
	// the kind says.
	Agent, Model string
	// Prompt is what the text says for this use.
	Prompt string
}

// Run lets an agent do the text for a call, and waits for its report.
func (f Fork) Run(ctx context.Context, crew Crew, c *tool.Call) Report {
	return crew.Run(ctx, f.Job(c.UseID, c.Agent), func(p tool.AgentProgress) { c.Report(p) })
}

// Job is the fork as work that a call gives to a crew.
func (f Fork) Job(useID, caller string) Job {
	return Job{UseID: useID, Caller: caller, Description: "/" + f.Name, Prompt: f.Prompt, Kind: cmp.Or(f.Agent, general), Model: f.Model, Text: f.Text}
}

// general is the kind of agents for everything.
const general = "general-purpose"

// Check says why there can be no such agent; nil if there can. One that does not exist is
// not replaced: another one might be allowed more.
func (f Fork) Check(crew Crew) *tool.Problem {
	kind := cmp.Or(f.Agent, general)
	if slices.ContainsFunc(crew.Agents(), func(k Kind) bool { return k.Denied && strings.EqualFold(k.Name, kind) }) {
		return &tool.Problem{Message: fmt.Sprintf("The %s %s is for the agent %s, which a rule denies. Tell the user.", f.Kind, f.Name, kind)}
	}
	if p := checkKind(crew, f.Agent); p != nil {
		return &tool.Problem{Message: fmt.Sprintf("The %s %s cannot be used: %s Tell the user.", f.Kind, f.Name, p.Message)}
	}
	return nil
}

// Isolated reports whether the agent would work in a copy of the repository.
func (f Fork) Isolated(crew Crew) bool {
	return slices.ContainsFunc(crew.Agents(), func(k Kind) bool { return k.Worktree && strings.EqualFold(k.Name, f.Agent) })
}

// Result is how the report reads to the model: how the agent ended, then what it said.
func (r Report) Result() tool.Result { return render(r.output(Input{})) }

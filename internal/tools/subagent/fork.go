package subagent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/tool"
)

// A Text is a skill or a command that an agent carries out in place of its caller. What the
// text allows, and its hooks, apply to that agent as long as it works.
type Text struct {
	Kind   string `json:"kind"` // skill or command
	Name   string `json:"name"`
	Digest string `json:"digest"` // of what was decided about
}

// A Fork is a skill or command that asks for a separate agent.
type Fork struct {
	Text
	// Agent is the kind of agent; "" means the general one. Model is its model; "" means the
	// model of the kind.
	Agent, Model string
	// Prompt is the expanded text.
	Prompt string
}

// Run has an agent carry out the text for a call, and waits for its report.
func (f Fork) Run(ctx context.Context, crew Crew, c *tool.Call) Report {
	return crew.Run(ctx, f.Job(c.UseID, c.Agent), func(p tool.AgentProgress) { c.Report(p) })
}

// Job returns the fork as a job that a call gives to a crew.
func (f Fork) Job(useID, caller string) Job {
	return Job{UseID: useID, Caller: caller, Description: "/" + f.Name, Prompt: f.Prompt, Kind: cmp.Or(f.Agent, general), Model: f.Model, Text: f.Text}
}

// general is the kind of agents for everything.
const general = "general-purpose"

// Check returns why there can be no such agent; nil if there can. An agent that does not exist
// is not replaced by another, which might be allowed more.
func (f Fork) Check(crew Crew) *tool.Problem {
	kind := cmp.Or(f.Agent, general)
	if slices.ContainsFunc(crew.Agents(), func(k Kind) bool { return k.Denied && strings.EqualFold(k.Name, kind) }) {
		return &tool.Problem{Message: fmt.Sprintf("The %s %s runs in the agent %s, which a rule denies. Tell the user.", f.Kind, f.Name, kind)}
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

package project

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/haftdev/haft/sched"
)

// Limits bound what happens in a session, by its settings.
type Limits struct {
	Agents       AgentLimits
	Repeats      sched.RepeatLimits  // how often calls may give the same result, by "calls.sameResults"
	AfterFailure sched.SiblingErrors // what a failing command does to the calls behind it, by "calls.afterFailure"
	// DeferPercent is the share of the context from which on the tools of MCP servers are
	// deferred, by "mcp.deferPercent"; nil leaves it to haft.
	DeferPercent *float64
}

// AgentLimits bound the agents of a session, by "agents". Zero values leave it to the crew.
type AgentLimits struct {
	Running, Depth, Tokens int
	First, Idle            time.Duration
	Wait                   bool // calls wait for their agents unless they say otherwise
	Dirs                   bool // calls may name the folder that an agent works in
}

// defaultDepth is how deep agents start each other if nothing is set.
const defaultDepth = 2

// Limits are what the settings say.
func (p *Project) Limits() Limits {
	// The settings have checked what is a whole number; 0 is what is not set.
	number := func(path ...string) (n int) {
		v, ok := p.Counts.Lookup(path...)
		if !ok || json.Unmarshal(v.JSON, &n) != nil {
			return 0
		}
		return n
	}
	seconds := func(path ...string) time.Duration { return time.Duration(number(path...)) * time.Second }
	l := Limits{
		Agents: AgentLimits{
			Running: number("agents", "maxRunning"), Depth: cmp.Or(number("agents", "maxDepth"), defaultDepth), Tokens: number("agents", "maxTokens"),
			First: seconds("agents", "firstTokenSeconds"), Idle: seconds("agents", "idleSeconds"),
		},
		Repeats: sched.RepeatLimits{Nudge: number("calls", "sameResults", "warn"), Stop: number("calls", "sameResults", "stop")},
	}
	is := func(want bool, path ...string) (yes bool) {
		v, ok := p.Counts.Lookup(path...)
		return ok && json.Unmarshal(v.JSON, &yes) == nil && yes == want
	}
	l.Agents.Wait, l.Agents.Dirs = is(false, "agents", "background"), is(true, "agents", "cwd")
	if set, _ := p.Counts.Text("calls", "afterFailure"); set.Text == "cancel" {
		l.AfterFailure = sched.CancelSiblings
	}
	var percent float64
	if v, ok := p.Counts.Lookup("mcp", "deferPercent"); ok && json.Unmarshal(v.JSON, &percent) == nil && percent >= 0 {
		l.DeferPercent = &percent
	}
	return l
}

// TodoTools is which tools keep the list of work, by "todoTools"; "" leaves it open.
func (p *Project) TodoTools() string {
	if set, _ := p.Counts.Text("todoTools"); set.Text != "auto" {
		return set.Text
	}
	return ""
}

package project

import (
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

package harness

import (
	"encoding/json"
	"time"

	"github.com/haftdev/haft/sched"
)

// agentLimits bound the agents of a session. Zero values leave it to the crew.
type agentLimits struct {
	running, depth, tokens int
	first, idle            time.Duration
}

// agentLimits are what the settings say under "agents".
func (p *Project) agentLimits() agentLimits {
	number := func(name string) int { return p.number("agents", name) }
	l := agentLimits{
		running: number("maxRunning"), depth: number("maxDepth"), tokens: number("maxTokens"),
		first: time.Duration(number("firstTokenSeconds")) * time.Second, idle: time.Duration(number("idleSeconds")) * time.Second,
	}
	if l.depth == 0 {
		l.depth = defaultDepth
	}
	return l
}

// defaultDepth is how deep agents start each other if nothing is set.
const defaultDepth = 2

// number is a whole number of the settings, which have checked it; 0 if it is not set.
func (p *Project) number(path ...string) (n int) {
	v, ok := p.Counts.Lookup(path...)
	if !ok || json.Unmarshal(v.JSON, &n) != nil {
		return 0
	}
	return n
}

// repeats is how often calls may give the same result, by "calls.sameResults".
func (p *Project) repeats() sched.RepeatLimits {
	return sched.RepeatLimits{Nudge: p.number("calls", "sameResults", "warn"), Stop: p.number("calls", "sameResults", "stop")}
}

// afterFailure is what a command that fails does to the calls of the same answer
// behind it, by "calls.afterFailure".
func (p *Project) afterFailure() sched.SiblingErrors {
	if set, _ := p.Counts.Text("calls", "afterFailure"); set.Text == "cancel" {
		return sched.CancelSiblings
	}
	return sched.Independent
}

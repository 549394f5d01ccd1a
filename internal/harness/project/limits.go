package project

import (
	"encoding/json"
	"time"

	"github.com/haftdev/haft/sched"
)

// AgentLimits bound the agents of a session. Zero values leave it to the crew.
type AgentLimits struct {
	Running, Depth, Tokens int
	First, Idle            time.Duration
}

// AgentLimits are what the settings say under "agents".
func (p *Project) AgentLimits() AgentLimits {
	number := func(name string) int { return p.number("agents", name) }
	l := AgentLimits{
		Running: number("maxRunning"), Depth: number("maxDepth"), Tokens: number("maxTokens"),
		First: time.Duration(number("firstTokenSeconds")) * time.Second, Idle: time.Duration(number("idleSeconds")) * time.Second,
	}
	if l.Depth == 0 {
		l.Depth = defaultDepth
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

// Repeats is how often calls may give the same result, by "calls.sameResults".
func (p *Project) Repeats() sched.RepeatLimits {
	return sched.RepeatLimits{Nudge: p.number("calls", "sameResults", "warn"), Stop: p.number("calls", "sameResults", "stop")}
}

// AfterFailure is what a command that fails does to the calls of the same answer
// behind it, by "calls.afterFailure".
func (p *Project) AfterFailure() sched.SiblingErrors {
	if set, _ := p.Counts.Text("calls", "afterFailure"); set.Text == "cancel" {
		return sched.CancelSiblings
	}
	return sched.Independent
}

// TodoTools is which tools keep the list of work, by "todoTools"; "" leaves it open.
func (p *Project) TodoTools() string {
	if set, _ := p.Counts.Text("todoTools"); set.Text != "auto" {
		return set.Text
	}
	return ""
}

package harness

import (
	"encoding/json"
	"time"
)

// agentLimits bound the agents of a session. Zero values leave it to the crew.
type agentLimits struct {
	running, depth, tokens int
	first, idle            time.Duration
}

// agentLimits are what the settings say under "agents".
func (p *Project) agentLimits() agentLimits {
	number := func(name string) (n int) {
		if v, ok := p.Counts.Lookup("agents", name); ok && json.Unmarshal(v.JSON, &n) != nil || n < 0 {
			return 0
		}
		return n
	}
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

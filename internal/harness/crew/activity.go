package crew

import (
	"maps"
	"sync"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/model"
)

// An activity is what an agent has done so far, as front ends and reports show it.
type activity struct {
	mu       sync.Mutex
	text     string // what it said last
	lastTool string
	uses     int
	tools    map[string]int
	tokens   int64
	before   int64       // of them, what was used before this process
	answered int64       // of them, those of answers that have ended
	answer   model.Usage // of the one that arrives
}

// A tally is an activity at one moment.
type tally struct {
	text, lastTool string
	uses           int
	tools          map[string]int
	tokens         int64
}

func (a *activity) now() tally {
	a.mu.Lock()
	defer a.mu.Unlock()
	return tally{text: a.text, lastTool: a.lastTool, uses: a.uses, tools: maps.Clone(a.tools), tokens: a.tokens}
}

// streamed counts the tokens of answers as they come. The agent's own count is left out
// until the end of the work: it may be behind these events or ahead of them.
func (a *activity) streamed(ev model.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch ev := ev.(type) {
	case model.Start:
		a.answered += a.answer.Context() // of one that broke off
		a.answer = ev.Usage
	case model.Stop:
		a.answered += ev.Usage.Context()
		a.answer = model.Usage{}
	}
	a.tokens = a.before + a.answered + a.answer.Context()
}

// spent is what was used: the answers, or what the agent has counted, in which there
// is more than answers.
func (a *activity) spent(used map[string]agent.ModelUsage) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(a.tokens, a.before+contextOf(used))
}

// settle takes over what the agent has counted, once it has ended.
func (a *activity) settle(used map[string]agent.ModelUsage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answered = max(a.answered+a.answer.Context(), contextOf(used))
	a.answer = model.Usage{}
	a.tokens = a.before + a.answered
}

// said takes in a block that the agent said.
func (a *activity) said(ev agent.Said) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch ev.Block.Type {
	case model.Text:
		if ev.Error == nil {
			a.text = ev.Block.Text
		}
	case model.ToolUse:
		a.uses++
		a.lastTool = ev.Block.Name
		if a.tools == nil {
			a.tools = make(map[string]int)
		}
		a.tools[ev.Block.Name]++
	}
}

func contextOf(used map[string]agent.ModelUsage) (sum int64) {
	for _, u := range used {
		sum += u.Context()
	}
	return sum
}

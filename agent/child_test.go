package agent_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/tool"
)

// The same type leads the conversation of a sub-agent: within a call of another,
// many at once, and everything that it does says whose it is.
func TestChildren(t *testing.T) {
	j := newJournal()
	var mu sync.Mutex
	stopped := map[string]bool{}
	seen := hooks(func(d hook.Detail) hook.Outcome {
		mu.Lock()
		defer mu.Unlock()
		switch d := d.(type) {
		case hook.SubagentStop:
			stopped[d.AgentID] = true
		case hook.SubagentStart, hook.PostToolBatch:
		default:
			t.Errorf("a %s hook runs for a sub-agent", d.Event())
		}
		return hook.Outcome{}
	})
	var parent *agent.Agent
	child := raw("Child", func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		o := world(&fake{t: t, answers: []reply{says(say("x", "deep")), says(text("found it"))}})
		o.Agent, o.AgentType, o.Journal, o.Hooks = c.ID, "explore", j, seen
		a, err := agent.New(o)
		if err != nil {
			return tool.Result{}, err
		}
		a.Send(userSays("look"))
		var last agent.Result
		for ev := range a.Run(ctx) {
			switch ev := ev.(type) {
			case agent.Said, agent.Returned, agent.Added:
				parent.Emit(ev)
			case agent.Result:
				last = ev
			}
		}
		for name, u := range last.Total {
			parent.Spend(name, u.Usage)
		}
		return tool.Text(last.Text), nil
	})
	child.Marks = func(*tool.Call) tool.Marks { return tool.Marks{ConcurrencySafe: true} }
	const children = 50
	first := says()
	for i := range children {
		first = says(append(blocksOf(first), use(fmt.Sprint("c", i), "Child", `{}`))...)
	}
	f := &fake{t: t, answers: []reply{first, says(text("All found it."))}}
	o := world(f, child)
	o.Journal, o.Repeats.Stop = j, -1
	parent = start(t, o)
	evs := run(t, parent, "go")
	res := result(t, evs)
	if res.Text != "All found it." || res.Calls != children || len(stopped) != children {
		t.Errorf("%q after %d calls, %d of them stopped", res.Text, res.Calls, len(stopped))
	}
	if got, want := parent.Usage()["fake-1"].Output, int64(5*(2+2*children)); got != want {
		t.Errorf("%d tokens were spent, want %d", got, want)
	}
	said := 0
	for _, s := range of[agent.Said](evs) {
		if stopped[s.Agent] {
			said++
		}
	}
	if said != 2*children {
		t.Errorf("%d blocks say whose they are, want %d", said, 2*children)
	}
	for _, e := range j.entries {
		if e.Message != nil && e.Message.Content != nil && e.Message.Content[0].ID == "x" && !stopped[e.Agent] {
			t.Errorf("an entry of a sub-agent does not say so: %+v", e)
		}
	}
}

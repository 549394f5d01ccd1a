package harness

import (
	"context"
	"sync"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// general is the agent of a job that names none.
const general = "general-purpose"

// notForChildren are tools that only the main conversation has: they talk to the user, or
// change what does not belong to the agent.
var notForChildren = map[string]bool{
	"AskUserQuestion": true, "EnterPlanMode": true, "ExitPlanMode": true, "EnterWorktree": true, "ExitWorktree": true,
	"TeamCreate": true, "TeamDelete": true,
}

// sets are the tools of the kinds of agents.
type sets struct {
	sync.Mutex
	of   *tool.Set
	made map[string]*tool.Set
}

// agentHooks are the hooks that run for one agent while it works: those of its definition,
// and of the skill or command that it does.
type agentHooks struct {
	world *World
	id    string
	texts []project.Text

	mu     sync.Mutex
	remove func() // nil while they do not run
}

// begin lets them run. What an agent's definition calls its Stop is the end of a sub-agent.
func (a *agentHooks) begin() {
	var hooks []hook.Hook
	for _, t := range a.texts {
		for _, h := range a.world.Project.Hooks.ForText(t) {
			if h.Event == (hook.Stop{}).Event() {
				h.Event = hook.SubagentStop{}.Event()
			}
			h.Agent = a.id
			hooks = append(hooks, h)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.remove == nil && len(hooks) > 0 {
		a.remove = a.world.Hooks.Add(hooks)
	}
}

// end ends them; they may begin again.
func (a *agentHooks) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.remove != nil {
		a.remove()
		a.remove = nil
	}
}

// A following journal is the conversation's of the moment: clearing begins another
// one while agents work.
type following struct{ c *Conversation }

func (f following) ID() string { return (*f.c.kept.Load()).ID() }

// Append writes entries down.
func (f following) Append(ctx context.Context, entries ...session.Entry) error {
	return (*f.c.kept.Load()).Append(ctx, entries...)
}

// Record writes a step of a call down.
func (f following) Record(ctx context.Context, r sched.Record) error {
	return (*f.c.kept.Load()).Record(ctx, r)
}

// agents are the crew's, as the tool that stops them sees them. The crew is made after the
// tool.
type agents struct{ w *World }

// About says what an agent does.
func (a agents) About(id string) (work, transcript string, ok bool) { return a.w.Crew.About(id) }

// Stop ends an agent's work.
func (a agents) Stop(id string) bool { return a.w.Crew.Stop(id) }

package harness

import (
	"fmt"
	"sync"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/settings"
)

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
		for _, h := range a.world.Project.Hooks.Of(t) {
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

// leadHooks lets the hooks of the agent that leads the conversation run, in all of it.
func (w *World) leadHooks(lead *agentdef.Definition) error {
	if lead == nil {
		return nil
	}
	t, err := w.definition(*lead)
	if err == nil {
		w.Hooks.Add(w.Project.Hooks.Of(t))
	}
	return err
}

// definition is an agent as what brings hooks. One that the command line brings has no file.
func (w *World) definition(d agentdef.Definition) (project.Text, error) {
	t := project.Text{Name: "the agent " + d.Name, Path: d.Path, Digest: d.Digest}
	if d.Hooks == nil {
		return t, nil
	}
	source := d.Source
	if t.Path == "" {
		source, t.Path = settings.Flag, t.Name+" of the command line"
	}
	var err error
	if t.Hooks, err = knowledge.ParseHooks(source, t.Path, d.Hooks); err != nil {
		return t, fmt.Errorf("%s cannot work: %w", t.Name, err)
	}
	t.Now = func() (string, error) {
		now, err := w.Project.Library.Agents.Find(d.Name)
		return now.Digest, err
	}
	return t, nil
}

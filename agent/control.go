package agent

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// SetModel changes the model from the next request on.
func (a *Agent) SetModel(name string) {
	a.changeModel(func(s *settings) { s.model, s.own = name, "" })
	a.note(StateModel, name)
}

// lendModel changes the model until the turn ends.
func (a *Agent) lendModel(name string) {
	a.changeModel(func(s *settings) { s.model, s.own = name, cmp.Or(s.own, s.model) })
}

func (a *Agent) changeModel(change func(*settings)) {
	a.mu.Lock()
	before := a.set.model
	change(&a.set)
	now := a.set.model
	a.mu.Unlock()
	if now != before {
		a.out.put(Changed{ModelName, now})
	}
}

// SetMode changes the permission mode at once.
func (a *Agent) SetMode(mode string) error {
	if a.opts.Permissions == nil {
		return errors.New("could not change the permission mode: this session has none")
	}
	if err := a.opts.Permissions.SetMode(mode); err != nil {
		return err
	}
	a.mu.Lock()
	a.set.mode = mode
	a.mu.Unlock()
	a.note(StateMode, mode)
	a.out.put(Changed{Mode, mode})
	return nil
}

// SetThinking changes how the model thinks, from the next request on; nil leaves it to the
// client.
func (a *Agent) SetThinking(t *model.ThinkingOptions) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.set.thinking = t
}

// SetEffort changes the effort, from the next request on; "" leaves it to the provider.
func (a *Agent) SetEffort(effort string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.set.effort = effort
}

// Effort returns the effort of the next request; "" leaves it to the provider.
func (a *Agent) Effort() string { return a.settings().effort }

// SetTools changes the tools, from the next request on. What the provider has cached stays
// valid: see [tool.Set.Next].
func (a *Agent) SetTools(s *tool.Set) error {
	if err := a.useTools(s); err != nil {
		return err
	}
	a.out.put(Changed{Tools, a.Tools()})
	return nil
}

// Tools returns the tools of the next request.
func (a *Agent) Tools() *tool.Set {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.set.tools
}

// useTools takes a set and adds what every set of the conversation has: the tool of a
// structured answer, and what the model has found.
func (a *Agent) useTools(s *tool.Set) error {
	if s == nil {
		s = tool.NewSet(nil, nil, nil, nil)
	}
	if a.opts.Structured != nil && s.Lookup(structuredName) == nil {
		s = s.Append(a.form.tool())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.set.tools != nil {
		s = a.set.tools.Next(s)
	}
	if !s.Sealed() {
		s = a.withRevealed(s)
	}
	a.set.tools = s
	return nil
}

// apply makes the changes that the result of a call asks for.
func (t *turn) apply(c *tool.Change) {
	a := t.a
	if c.Model != "" {
		t.borrow(c.Model)
	}
	if c.Mode != "" {
		if err := a.SetMode(c.Mode); err != nil {
			a.out.put(Notice{Level: "warning", Text: err.Error()})
		}
	}
	if len(c.Allow) > 0 && a.opts.Permissions != nil {
		undo, err := a.opts.Permissions.Allow(c.Allow)
		if err != nil {
			a.out.put(Notice{Level: "warning", Text: fmt.Sprintf("Could not apply the permission rules of a skill or command: %s", err)})
		} else {
			t.undo = append(t.undo, undo)
		}
	}
	if len(c.Reveal) > 0 {
		a.mu.Lock()
		a.revealed = append(a.revealed, c.Reveal...)
		a.set.tools = a.set.tools.Reveal(c.Reveal...)
		a.mu.Unlock()
		a.note(StateRevealed, a.revealed)
	}
}

// borrow switches to the model that a skill or command wants, until the turn ends. If there
// is none of that name, the current one continues.
func (t *turn) borrow(name string) {
	a := t.a
	if a.opts.Resolve != nil {
		resolved, err := a.opts.Resolve(name)
		if err != nil {
			a.out.put(Notice{Level: "warning", Tag: "model", Text: fmt.Sprintf("Could not switch to model %q: %s. The conversation continues with %s.", name, err, a.settings().model)})
			return
		}
		name = resolved
	}
	a.lendModel(name)
}

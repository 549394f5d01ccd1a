package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// openSession finds or begins the session.
func (w *World) openSession(ctx context.Context, o *TalkOptions) (*session.Session, error) {
	store, dir := o.Sessions, w.Shell.Dir("")
	if store == nil {
		store = session.Open("")
	}
	id := o.Resume
	if o.Continue && id == "" {
		var err error
		switch id, err = store.Latest(dir); {
		case errors.Is(err, session.ErrNotFound):
			w.link.Emit(agent.Notice{Level: "notice", Text: "There is no session in this folder to continue. Starting a new one."})
		case err != nil:
			return nil, err
		}
	}
	switch {
	case id != "":
		s, err := store.Resume(ctx, id, &session.ResumeOptions{At: o.ResumeAt, Drops: o.Drops, Fork: o.Fork, NewID: o.ID, Cwd: dir, Version: o.Version})
		if errors.Is(err, session.ErrDrops) {
			return nil, fmt.Errorf("%s: %w", rejected, err)
		}
		if errors.Is(err, session.ErrNotFound) {
			return nil, &project.UsageError{Err: fmt.Errorf("%w. Run 'haft sessions list --all' to see the sessions", err)}
		}
		if errors.Is(err, session.ErrNoMessage) {
			return nil, &project.UsageError{Err: fmt.Errorf("%w. Run 'haft sessions show %s' for its messages", err, id)}
		}
		return s, err
	case o.Forget:
		return session.Memory(cmp.Or(o.ID, session.NewUUID())), nil
	}
	return store.Create(ctx, &session.CreateOptions{ID: o.ID, Cwd: dir, Version: o.Version})
}

// rejected is what programs look for in the error of a resume that would lose too much.
const rejected = "Resume rejected by --resume-drops-turn"

// states are what a process that resumes the session needs in order to use the same model
// and to be as careful, if they are not recorded yet.
func (c *Conversation) states(o *TalkOptions, chosen string) map[string]any {
	restored, states := c.Journal().Restored(), map[string]any{}
	maps.Copy(states, o.States)
	if c.Provider != "given" && c.Provider != state[string](restored, stateProvider) {
		states[stateProvider] = c.Provider
	}
	if chosen != "" && o.Model != state[string](restored, agent.StateModel) {
		states[agent.StateModel] = o.Model
	}
	known := cmp.Or(state[string](restored, agent.StateMode), string(permission.Default))
	if mode := string(c.World.Engine.Policy().Mode()); mode != known {
		states[agent.StateMode] = mode
	}
	if host := c.World.Project.Options.ToolHost; host != nil {
		states[stateToolHost] = host.Address
	}
	states[stateKept] = c.World.Project.Kept.Names()
	lead := ""
	if c.lead != nil {
		lead = c.lead.Name
	}
	if lead != "" || state[string](restored, stateLead) != "" {
		states[stateLead] = lead // also if it is known: a cleared conversation is another session
	}
	return states
}

// spent is the usage of the answers of a session, by the names under which their models
// have prices.
func spent(r *session.Restored) map[string]model.Usage {
	used := make(map[string]model.Usage)
	for name, u := range r.Usage {
		name = cmp.Or(state[string](r, agent.StateAsked+name), name)
		used[name] = used[name].Add(u)
	}
	return used
}

// state is what a resumed session has stored under a name; the zero value if nothing.
func state[T any](r *session.Restored, name string) (v T) {
	_ = json.Unmarshal(r.States[name], &v) // what cannot be read is not known
	return v
}

// renew begins the session that follows a clearing of the conversation.
func (c *Conversation) renew(o *TalkOptions) func(context.Context) (agent.Journal, error) {
	return func(ctx context.Context) (agent.Journal, error) {
		next, err := c.World.openSession(ctx, &TalkOptions{Sessions: o.Sessions, Forget: o.Forget, Version: o.Version})
		if err != nil {
			return nil, err
		}
		c.plan.Store(nil)
		c.skills.clear()
		c.hooks.clear()
		c.World.nested.Clear()
		if dir := next.Dir(); dir != "" {
			c.World.Project.Kept.Add(filepath.Join(dir, "subagents"))
			c.World.Project.Kept.BeginPlan(filepath.Join(dir, planName))
		}
		kept, _ := c.World.keep(next, o.Steps)
		c.kept.Store(&kept)
		c.title.Store(nil)
		return kept, c.World.link.Begin(next).Close()
	}
}

// waitedText says that commands of an earlier process had to be stopped first, if that took
// a while.
func waitedText(d time.Duration) string {
	if d <= time.Second {
		return ""
	}
	return fmt.Sprintf("Commands from an earlier run of this session were still running. Stopping them took %.1f s.", d.Seconds())
}

package harness

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/agent/prompt"
	"github.com/haftdev/haft/harness/crew"
	"github.com/haftdev/haft/knowledge/agentdef"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/subagent"
	"github.com/haftdev/haft/workspace/worktree"
)

// newCrew returns the crew of the world, which can work once there is a
// conversation.
func (w *World) newCrew() *crew.Crew {
	return crew.New(&crew.Options{
		Make: w.hire, Kinds: w.kinds, Emit: w.emit, Save: w.saveAgents,
		Notify: func(t agent.Task) {
			if a := w.talk.Load(); a != nil {
				a.Notify(t)
			}
		},
		Spend: func(name string, u model.Usage) {
			if a := w.talk.Load(); a != nil {
				a.Spend(name, u)
			}
		},
		Say: func(text string) {
			if a := w.talk.Load(); a != nil {
				a.Send(agent.Prompt{Origin: agent.TaskNotification, Content: []model.Block{model.TextOf(text)}})
			}
		},
	})
}

// kinds are the agents that work can be given to.
func (w *World) kinds() []subagent.Kind {
	var kinds []subagent.Kind
	for _, d := range w.Library.Agents.List().Definitions {
		tools := "all"
		if d.Tools != nil {
			tools = strings.Join(d.Tools, ", ")
		}
		kinds = append(kinds, subagent.Kind{Name: d.Name, Description: d.Description, Tools: tools})
	}
	return kinds
}

// general is the agent of a job that names none.
const general = "general-purpose"

// hire makes the agent of a job: a conversation of its own, with no more rights
// than this one has.
func (w *World) hire(ctx context.Context, s crew.Spec) (*crew.Made, error) {
	c := w.conversation.Load()
	if c == nil {
		return nil, fmt.Errorf("agents work in conversations, and there is none")
	}
	name := s.Kind
	if name == "" {
		name = general
	}
	d, err := w.Library.Agents.Find(name)
	if err != nil {
		return nil, err
	}
	leave := func() (string, string) { return "", "" }
	if s.Worktree || d.Isolation == "worktree" {
		if leave, err = w.isolate(ctx, s.ID); err != nil {
			return nil, err
		}
	}
	tools := w.toolsFor(c, d, s.Depth)
	opts := c.child(d, s, tools)
	a, err := agent.New(opts)
	if err != nil {
		return nil, err
	}
	made := &crew.Made{Agent: a, Kind: d.Name, Model: opts.ModelName, Close: func() (string, string) {
		w.Shell.EndAgent(s.ID)
		return leave()
	}}
	if dir := c.Journal().Dir(); dir != "" {
		made.Output = filepath.Join(dir, "subagents", "agent-"+s.ID+".jsonl")
	}
	return made, nil
}

// isolate lets an agent work in a copy of the repository. Leaving it removes the
// copy, unless there is work in it, and says where that is.
func (w *World) isolate(ctx context.Context, id string) (leave func() (path, branch string), err error) {
	repo, err := worktree.Open(ctx, w.Project.Dir)
	if err != nil {
		return nil, fmt.Errorf("give the agent a copy of the repository: %w", err)
	}
	tree, err := repo.Add(ctx, "agent-"+id)
	if err != nil {
		return nil, fmt.Errorf("give the agent a copy of the repository: %w", err)
	}
	if err := w.Shell.Move(id, tree.Path); err != nil {
		return nil, err
	}
	return func() (string, string) {
		if loss, err := tree.Loss(context.Background()); err != nil || !loss.Empty() {
			return tree.Path, tree.Branch
		}
		if _, err := tree.Remove(context.Background(), nil); err != nil {
			return tree.Path, tree.Branch
		}
		return "", ""
	}, nil
}

// notForChildren are tools that only the main conversation has: they speak with
// the person, or change what is not the agent's own.
var notForChildren = map[string]bool{
	"AskUserQuestion": true, "EnterPlanMode": true, "ExitPlanMode": true, "EnterWorktree": true, "ExitWorktree": true,
	"TeamCreate": true, "TeamDelete": true,
}

// toolsFor are the tools of an agent. Agents of one kind share them: a set holds
// its description for the model.
func (w *World) toolsFor(c *Conversation, d agentdef.Definition, depth int) *tool.Set {
	key := fmt.Sprint(d, depth)
	w.sets.Lock()
	defer w.sets.Unlock()
	if set, ok := w.sets.made[key]; ok && w.sets.of == c.Tools() {
		return set
	}
	if w.sets.of != c.Tools() { // the session's tools have changed
		w.sets.of, w.sets.made = c.Tools(), make(map[string]*tool.Set)
	}
	var ours, foreign []tool.Tool
	for _, t := range c.Tools().All() {
		switch {
		case notForChildren[t.Name] || !d.Has(t.Name) || t.Name == "Agent" && depth >= maxDepth:
		case t.Source == "":
			ours = append(ours, *t)
		default:
			foreign = append(foreign, *t)
		}
	}
	session := *c.Tools().Session()
	session.Interactive = false
	set := tool.NewSet(&session, ours, foreign, nil)
	w.sets.made[key] = set
	return set
}

// maxDepth is how deep agents may start each other.
const maxDepth = 2

// sets are the tools of the kinds of agents.
type sets struct {
	sync.Mutex
	of   *tool.Set
	made map[string]*tool.Set
}

// child are the options of an agent that works for this conversation.
func (c *Conversation) child(d agentdef.Definition, s crew.Spec, tools *tool.Set) *agent.Options {
	w, o := c.World, c.opts
	o.Agent, o.AgentType = s.ID, d.Name
	o.ModelName = c.ContextUsage().Model
	for _, name := range []string{d.Model, s.Model} {
		if name != "" && name != "inherit" {
			o.ModelName = c.Resolve(name)
		}
	}
	o.Tools, o.History, o.Structured, o.Renew = tools, nil, nil, nil
	o.System = prompt.System(&prompt.Options{Custom: &d.Prompt, Tools: tools})
	o.Facts = prompt.NewFacts(&prompt.FactsOptions{
		Dir: w.Shell.Dir(s.ID), Added: w.Guard.Roots()[1:], Cwd: func() string { return w.Shell.Dir(s.ID) }, Instructions: w.instructions,
	}).Tell
	o.Carry = nil
	o.Limits = agent.Limits{Turns: d.MaxTurns}
	o.Permissions = nil // the session's are not an agent's to change
	o.Sched.Judge = w.childJudge(d)
	return &o
}

// childJudge judges the calls of an agent: as the session, or more carefully.
func (w *World) childJudge(d agentdef.Definition) sched.Judge {
	var denied []permission.Rule
	for _, text := range d.Rules() {
		denied = append(denied, permission.Rule{Text: text, Behavior: tool.Deny, Origin: settings.Origin{Source: settings.Session}})
	}
	var mu sync.Mutex
	var base, own *permission.Policy
	return sched.JudgeFunc(func(_ context.Context, c tool.Case) tool.Verdict {
		mu.Lock()
		if now := w.Engine.Policy(); now != base {
			base, own = now, w.Engine.With(permission.Mode(d.Mode), denied...)
		}
		policy := own
		mu.Unlock()
		return policy.Decide(c).Verdict
	})
}

// saveAgents writes down who is at work.
func (w *World) saveAgents(known []crew.Known) { w.save(stateAgents, known) }

// lostAgents says who was at work when the session broke off.
func lostAgents(r *session.Restored) string { return crew.Lost(state[[]crew.Known](r, stateAgents)) }

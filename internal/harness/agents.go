package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness/crew"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/harness/sysprompt"
	"github.com/haftdev/haft/internal/harness/sysprompt/prompt"
	"github.com/haftdev/haft/internal/harness/workdir"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	texts "github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/tools/subagent"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// newCrew returns the crew of the world, which can work once there is a conversation.
func (w *World) newCrew() *crew.Crew {
	limits := w.Project.Limits().Agents
	return crew.New(&crew.Options{
		MaxRunning: limits.Running, MaxDepth: limits.Depth, MaxTokens: int64(limits.Tokens), FirstToken: limits.First, Idle: limits.Idle,
		Kinds: w.kinds, Emit: w.link.Emit, Save: func(known []crew.Known) { w.link.Save(stateAgents, known) },
		Notify: w.link.Notify, Spend: w.link.Spend, Say: w.link.Say,
	})
}

// kinds are the agents that work can be given to.
func (w *World) kinds() []subagent.Kind {
	var kinds []subagent.Kind
	may := w.mayUse("Agent", "subagent_type")
	for _, d := range w.Project.Library.Agents.List().Definitions {
		tools := "all"
		if d.Tools != nil {
			tools = strings.Join(d.Tools, ", ")
		}
		kinds = append(kinds, subagent.Kind{Name: d.Name, Description: d.Description, Tools: tools, Background: d.Background, Worktree: d.Isolation == "worktree", Denied: !may(d.Name)})
	}
	return kinds
}

// general is the agent of a job that names none.
const general = "general-purpose"

// makeAgent makes the agent of a job: a conversation with no more rights than this one has.
func (c *Conversation) makeAgent(ctx context.Context, s crew.Spec) (*crew.Made, error) {
	w := c.World
	name := s.Kind
	if name == "" {
		name = general
	}
	d, err := w.Project.Library.Agents.Find(name)
	if err != nil {
		return nil, err
	}
	isolated := s.Worktree || d.Isolation == "worktree"
	if w.Project.Options.ToolHost != nil && (isolated || s.Dir != "") {
		return nil, errors.New("the tools run on another machine, where agents work in the folder of the session: start the agent without a worktree and without a folder")
	}
	dir := c.dirs.For(s.ID, isolated)
	if dir.Folder, err = c.folderFor(s.Dir); err != nil {
		return nil, err
	}
	if !s.Again {
		if err := dir.Open(ctx); err != nil {
			return nil, err
		}
	}
	opts, err := c.child(ctx, d, s, dir)
	if err != nil {
		return nil, err
	}
	takeBack, err := c.lendText(opts.Permissions, s)
	if err != nil {
		return nil, err
	}
	hooks, err := c.hooksFor(d, s)
	if err != nil {
		return nil, err
	}
	a, err := agent.New(opts)
	if err != nil {
		return nil, err
	}
	meta := session.AgentMeta{Type: d.Name, Description: s.Description, UseID: s.UseID, Parent: s.Caller, Depth: s.Depth}
	if err := c.Journal().DescribeAgent(s.ID, meta); err != nil {
		return nil, err
	}
	hooks.begin()
	made := &crew.Made{
		Agent: a, Kind: d.Name, Model: opts.ModelName, Spawns: d.Spawns(),
		Reopen: func(ctx context.Context) error {
			if err := dir.Open(ctx); err != nil {
				return err
			}
			hooks.begin()
			return nil
		},
		Close: func() (worktree, branch string) {
			takeBack()
			hooks.end()
			return dir.Close()
		},
	}
	if folder := c.Journal().Dir(); folder != "" {
		made.Output = filepath.Join(folder, "subagents", "agent-"+s.ID+".jsonl")
	}
	return made, nil
}

// folderFor checks the folder that an agent will work in: it must be one of the
// conversation's.
func (c *Conversation) folderFor(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("cannot use the folder for the agent: %w", err)
	}
	if !slices.ContainsFunc(c.World.Engine.Guard().Roots(), func(root string) bool { return pathin.Contains(root, resolved) }) {
		return "", fmt.Errorf("%s is not in the project: choose a folder in the project for the agent", dir)
	}
	return resolved, nil
}

// notForChildren are tools that only the main conversation has: they talk to the user, or
// change what does not belong to the agent.
var notForChildren = map[string]bool{
	"AskUserQuestion": true, "EnterPlanMode": true, "ExitPlanMode": true, "EnterWorktree": true, "ExitWorktree": true,
	"TeamCreate": true, "TeamDelete": true,
}

// toolsFor are the tools of an agent. Agents of one kind share them, because a set holds
// its description for the model.
func (c *Conversation) toolsFor(d agentdef.Definition, depth int) *tool.Set {
	key := fmt.Sprint(d, depth)
	c.sets.Lock()
	defer c.sets.Unlock()
	if set, ok := c.sets.made[key]; ok && c.sets.of == c.Agent.Tools() {
		return set
	}
	if c.sets.of != c.Agent.Tools() { // the session's tools have changed
		c.sets.of, c.sets.made = c.Agent.Tools(), make(map[string]*tool.Set)
	}
	var ours, foreign []tool.Tool
	for _, t := range c.Agent.Tools().All() {
		switch {
		case t.Name == tool.DoorName: // the set adds it if it needs it
		case notForChildren[t.Name] || !c.World.mayHave(d, t) || t.Name == "Agent" && depth >= c.World.Project.Limits().Agents.Depth:
		case t.Source == "":
			ours = append(ours, *t)
		default:
			foreign = append(foreign, *t)
		}
	}
	session := *c.Agent.Tools().Session()
	session.Interactive = false
	session.Flags = maps.Clone(session.Flags)
	session.Flags[subagent.WaitFlag] = true // what an agent starts ends with it
	opts := c.pool.loading.setOptions(false)
	opts.Known = c.Agent.Tools().Known()
	set := tool.NewSet(&session, ours, foreign, &opts)
	c.sets.made[key] = set
	return set
}

// sets are the tools of the kinds of agents.
type sets struct {
	sync.Mutex
	of   *tool.Set
	made map[string]*tool.Set
}

// child returns the options of an agent that works for this conversation. Every field is
// set here or in inherit, and a test checks that: a new field of the loop must not reach
// agents by oversight.
func (c *Conversation) child(ctx context.Context, d agentdef.Definition, s crew.Spec, dir *workdir.Dir) (*agent.Options, error) {
	w, o := c.World, inherit(&c.opts)
	o.Agent, o.AgentType = s.ID, d.Name
	o.ModelName = c.childModel(d, s)
	o.Journal = following{c}
	o.Effort = cmp.Or(s.Effort, d.Effort, o.Effort)
	o.Tools = c.toolsFor(d, s.Depth)
	if s.Again {
		if err := c.recall(ctx, s.ID, &o); err != nil {
			return nil, err
		}
	}
	o.System = prompt.System(&prompt.Options{Custom: &d.Prompt, Tools: o.Tools})
	nested, told := w.nested.Tell(s.ID), w.told(o.ModelName, nil)
	told.Agent = s.ID
	o.News = func(ctx context.Context) []string { return nested(ctx, false) }
	o.Carry = func() []string { return c.skills.carry(s.ID) }
	o.Facts = prompt.NewFacts(&prompt.FactsOptions{
		Elsewhere: w.Project.Elsewhere(), Dir: dir.Path(), Added: w.Project.Guard.Roots()[1:], Cwd: dir.Path, Instructions: told.Instructions,
		More: sysprompt.Together(c.preload(d), nested),
	}).Tell
	o.Limits = agent.Limits{Turns: d.MaxTurns}
	policy := w.childPolicy(d, permission.Mode(s.Mode), dir)
	w.policies.keep(s.ID, policy)
	o.Permissions, o.Sched.Judge = policy, w.judgeElsewhere(policy.policy, sched.JudgeFunc(policy.judge))
	o.Sched.Who = fmt.Sprintf("the agent %s (%s)", cmp.Or(s.Name, d.Name), s.Description)
	return &o, nil
}

// inherit returns what an agent has from the conversation that it works for. It leaves out
// what belongs to the conversation alone: its history and everything that is restored with
// it, the schema of its answer, and the budget of the whole work.
func inherit(o *agent.Options) agent.Options {
	return agent.Options{
		Model: o.Model, Resolve: o.Resolve, Thinking: o.Thinking, Effort: o.Effort, Betas: o.Betas, MaxTokens: o.MaxTokens, Context: o.Context, Cost: o.Cost,
		Refused: o.Refused, // by the same server
		Mode:    o.Mode, Person: o.Person, Hooks: o.Hooks, Repeats: o.Repeats, Source: o.Source,
		Sched: sched.Options{
			Askers: o.Sched.Askers, Questions: o.Sched.Questions, Hooks: o.Sched.Hooks, Recorder: o.Sched.Recorder, Dir: o.Sched.Dir, Output: o.Sched.Output,
			Missing: o.Sched.Missing, MessageLimit: o.Sched.MessageLimit, MaxConcurrent: o.Sched.MaxConcurrent, SiblingErrors: o.Sched.SiblingErrors, CancelGrace: o.Sched.CancelGrace,
		},
	}
}

// childModel is the model of an agent: that of its job, or else of its definition, or else
// of the conversation.
func (c *Conversation) childModel(d agentdef.Definition, s crew.Spec) string {
	chosen := c.Agent.ContextUsage().Model
	names := []string{d.Model, s.Model}
	if all := c.World.Project.ModelEnv().Get("CLAUDE_CODE_SUBAGENT_MODEL"); all != "" {
		names = []string{all}
	}
	for _, name := range names {
		if name == "" || name == "inherit" {
			continue
		}
		resolved, err := c.askable(name)
		if err != nil {
			c.World.link.Emit(agent.Notice{Level: "warning", Tag: "model", Text: fmt.Sprintf("The agent %s uses the model %s instead of the requested one: %s.", d.Name, chosen, err)})
			continue
		}
		chosen = resolved
	}
	return chosen
}

// lendText lets an agent that does a skill or command do what that allows itself, until it
// is taken back. One that has done it and continues with something else may not.
func (c *Conversation) lendText(policy agent.Permissions, s crew.Spec) (takeBack func(), err error) {
	if s.Text.Name == "" || s.Again {
		return func() {}, nil
	}
	p, err := c.World.piece(knowledge.Kind(s.Text.Kind), s.Text.Name)
	if err != nil {
		return nil, err
	}
	if p.Digest != s.Text.Digest {
		return nil, fmt.Errorf("the %s %s changed while it was being loaded; use it again", s.Text.Kind, s.Text.Name)
	}
	return policy.Allow(p.Fields.List("allowed-tools"))
}

// hooksFor are the hooks for the time that an agent works.
func (c *Conversation) hooksFor(d agentdef.Definition, s crew.Spec) (*agentHooks, error) {
	own, err := c.World.definition(d)
	if err != nil {
		return nil, err
	}
	hooks := &agentHooks{world: c.World, id: s.ID, texts: []project.Text{own}}
	if s.Text.Name == "" {
		return hooks, nil
	}
	p, err := c.World.piece(knowledge.Kind(s.Text.Kind), s.Text.Name)
	if err != nil {
		return nil, err
	}
	done, err := c.World.textOf(p)
	hooks.texts = append(hooks.texts, done)
	return hooks, err
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

// definition is an agent as what brings hooks. One that the command line brings has no file.
func (w *World) definition(d agentdef.Definition) (project.Text, error) {
	t := project.Text{Name: "the agent " + d.Name, Path: d.Path, Digest: d.Digest}
	if d.Hooks == nil {
		return t, nil
	}
	source := d.Source
	if t.Path == "" {
		source, t.Path = settings.Flag, t.Name+" from the command line"
	}
	var err error
	if t.Hooks, err = knowledge.ParseHooks(source, t.Path, d.Hooks); err != nil {
		return t, fmt.Errorf("cannot use %s: %w", t.Name, err)
	}
	t.Now = func() (string, error) {
		now, err := w.Project.Library.Agents.Find(d.Name)
		return now.Digest, err
	}
	return t, nil
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

// recall lets an agent continue with what it knew.
func (c *Conversation) recall(ctx context.Context, id string, o *agent.Options) error {
	if c.Journal().Dir() == "" {
		return errors.New("the session is not saved, so what the agent knew is lost")
	}
	known, err := c.Journal().Agent(ctx, id)
	if err != nil {
		return err
	}
	c.World.nested.Recall(id, agent.Reminders(known.History))
	o.History, o.Revealed = known.History, state[[]string](known, agent.StateRevealed)
	return nil
}

// preload gives an agent the skills that its definition names, at its start and again when
// a compaction has dropped them.
func (c *Conversation) preload(d agentdef.Definition) func(context.Context, bool) []string {
	return func(ctx context.Context, first bool) (texts []string) {
		if !first {
			return nil
		}
		for _, name := range d.Skills {
			text, err := c.skillText(ctx, name)
			if err != nil {
				c.World.link.Emit(agent.Notice{Level: "warning", Text: fmt.Sprintf("The agent %s starts without the skill %s: %s", d.Name, name, err)})
				text = fmt.Sprintf("The skill %s could not be loaded: %s", name, err)
			}
			texts = append(texts, text)
		}
		return texts
	}
}

func (c *Conversation) skillText(ctx context.Context, name string) (string, error) {
	if !c.pool.builtins.MaySkill(name) {
		return "", errors.New("a rule denies it")
	}
	s, err := c.World.Project.Library.Skills.Read(name)
	if err != nil {
		return "", err
	}
	if err := c.hooks.loaded(knowledge.Skill, s.Name, s.Digest); err != nil {
		return "", err
	}
	text, err := s.Prompt(ctx, texts.Use{}, c.pool.builtins.Calls)
	return "The skill " + s.Name + ":\n" + text, err
}

// lostAgents says which agents were working when the session broke off.
func lostAgents(r *session.Restored) string {
	return crew.LostText(state[[]crew.Known](r, stateAgents))
}

// agents are the crew's, as the tool that stops them sees them. The crew is made after the
// tool.
type agents struct{ w *World }

// About says what an agent does.
func (a agents) About(id string) (work, transcript string, ok bool) { return a.w.Crew.About(id) }

// Stop ends an agent's work.
func (a agents) Stop(id string) bool { return a.w.Crew.Stop(id) }

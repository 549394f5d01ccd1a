package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness/crew"
	"github.com/haftdev/haft/internal/harness/market"
	"github.com/haftdev/haft/internal/harness/servers"
	"github.com/haftdev/haft/internal/harness/slash"
	"github.com/haftdev/haft/internal/harness/sysprompt"
	basics "github.com/haftdev/haft/internal/harness/sysprompt/prompt"
	"github.com/haftdev/haft/internal/harness/trace"
	"github.com/haftdev/haft/internal/harness/workdir"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	commands "github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/knowledge/mention"
	"github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/internal/models/catalog"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/tools/mcpresource"
	"github.com/haftdev/haft/internal/tools/schedule"
	"github.com/haftdev/haft/internal/tools/subagent"
	"github.com/haftdev/haft/internal/tools/task"
	"github.com/haftdev/haft/internal/tools/todo"
	"github.com/haftdev/haft/internal/tools/websearch"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A Conversation is a world and an agent that works in it.
type Conversation struct {
	models

	// Version is that of the program, Began when it opened the conversation.
	Version string
	// Style is the name of the output style. It stays the same for the whole conversation,
	// because it is part of the system prompt.
	Style string

	lead      *agentdef.Definition // the agent that leads; nil means haft itself
	pool      *Pool
	input     *slash.Input
	plan      atomic.Pointer[string] // the last one that the user agreed to
	dirs      *workdir.Dirs
	sets      sets // of the agents that work for it
	skills    skillTexts
	hooks     textHooks
	watched   watched
	questions *openQuestions
	traces    *trace.Tracer // of its turns; nil if nobody collects them
	driver    Driver
	kept      atomic.Pointer[agent.Journal] // the journal with its checkpoints
	taking    sync.Mutex                    // while what servers offer is taken in: the last to look decides
	first     sync.Once
	prepare   *time.Timer // makes the list of files; nil in a folder of everything
	// stopChecking ends the search for updates of plugins; nil if there is none.
	stopChecking context.CancelFunc
}

// Input reads what the user types: slash commands and mentions of files.
func (c *Conversation) Input() *slash.Input { return c.input }

// Call makes a call outside the conversation's turns, for a text or the user.
func (c *Conversation) Call(ctx context.Context, r prompt.Request) (tool.Result, error) {
	return c.pool.builtins.Calls(ctx, r)
}

// ThinkingTokens bounds thinking: nil leaves it to the model, 0 turns it off.
func ThinkingTokens(n *int, display string) *model.ThinkingOptions {
	switch {
	case n == nil:
		return nil
	case *n == 0:
		return &model.ThinkingOptions{Mode: "disabled"}
	}
	return &model.ThinkingOptions{Mode: "enabled", Budget: *n, Display: display}
}

// StopTask ends a command in the background, an agent or a call of an MCP server.
func (c *Conversation) StopTask(_ context.Context, id string) error {
	if _, _, ok := c.World.Crew.About(id); ok {
		c.World.Crew.Stop(id)
		return nil
	}
	if c.MCP.StopCall(id) {
		return nil
	}
	task, ok := c.World.host.Task(id)
	if !ok {
		return fmt.Errorf("there is no task %q", id)
	}
	task.Stop()
	return nil
}

// Run handles what is queued; see [agent.Agent.Run]. The first Run waits for MCP servers,
// if it has to.
func (c *Conversation) Run(ctx context.Context) iter.Seq2[agent.Event, error] {
	return c.RunAwaiting(ctx, func(agent.Task) bool { return true })
}

// RunAwaiting is Run, but at the end it waits only for tasks for which awaits returns true.
func (c *Conversation) RunAwaiting(ctx context.Context, awaits func(agent.Task) bool) iter.Seq2[agent.Event, error] {
	c.first.Do(func() { c.MCP.Await(ctx) })
	library := c.World.Project.Library
	return func(yield func(agent.Event, error) bool) {
		defer library.Hold(time.Time{})
		for ev, err := range c.Agent.RunAwaiting(ctx, awaits) {
			if _, ok := ev.(agent.Returned); ok {
				library.Hold(time.Time{}) // a call may have changed the files
			}
			if err == nil {
				c.watched.event(ev)
				c.traces.Event(ev)
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// A Driver drives a conversation for its front end. Those who watch use it too, so that what
// they say has the same effect and waits in the same queue.
type Driver interface {
	// Prompt takes a message of someone who watches.
	Prompt(agent.Prompt)
	// Queued returns what waits for a turn, Withdraw takes one of it back and reports whether
	// it was there.
	Queued() []agent.Prompt
	Withdraw(uuid string) bool
	// Interrupt stops what runs, and reports whether there was something.
	Interrupt() bool
}

// undriven is the driver of a conversation whose program speaks to the agent itself.
type undriven struct{ *Conversation }

func (u undriven) Prompt(p agent.Prompt)     { u.Send(p) }
func (u undriven) Queued() []agent.Prompt    { return u.Agent.Queued() }
func (u undriven) Withdraw(uuid string) bool { return u.Agent.Withdraw(uuid) }
func (u undriven) Interrupt() bool           { return u.Agent.Interrupt("") }

// Driver drives the conversation.
func (c *Conversation) Driver() Driver { return c.driver }

// Close ends the conversation and everything it has started.
func (c *Conversation) Close(ctx context.Context) error {
	if c.stopChecking != nil {
		c.stopChecking()
	}
	if c.prepare != nil {
		c.prepare.Stop()
	}
	unwatched := c.watched.close()
	c.traces.Close()
	c.pool.builtins.Schedule.Close()
	if ended := c.Running(); ended != "" {
		c.World.link.Tell("Ended these background commands:\n" + ended)
	}
	c.Agent.Close(ctx, "other")
	return errors.Join(unwatched, c.MCP.Close(), c.World.Close(), c.Journal().Close())
}

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
	o.System = basics.System(&basics.Options{Custom: &d.Prompt, Tools: o.Tools})
	nested, told := w.nested.Tell(s.ID), w.told(o.ModelName, nil)
	told.Agent = s.ID
	o.News = func(ctx context.Context) []string { return nested(ctx, false) }
	o.Carry = func() []string { return c.skills.carry(s.ID) }
	o.Facts = basics.NewFacts(&basics.FactsOptions{
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
	text, err := s.Prompt(ctx, prompt.Use{}, c.pool.builtins.Calls)
	return "The skill " + s.Name + ":\n" + text, err
}

// CatchUp waits until the front end has read everything so far, so that a user who decides
// about a call has seen it. Wake makes an idle front end read.
func (c *Conversation) CatchUp(ctx context.Context, wake func()) {
	m := Mark{reached: make(chan struct{})}
	c.Agent.Emit(m)
	wake()
	late := time.NewTimer(markTime)
	defer late.Stop()
	select {
	case <-m.reached:
	case <-ctx.Done():
	case <-late.C:
	}
}

// Explain is [World.Explain] for a call of the conversation's model.
func (c *Conversation) Explain(ctx context.Context, name string, input json.RawMessage) (Explanation, error) {
	if strings.HasPrefix(name, "mcp__") && c.everyTool().Lookup(name) == nil && c.MCP.Any() {
		if host, err := c.MCP.Open(); err == nil {
			ctx, cancel := context.WithTimeout(ctx, startPatience)
			_ = host.Wait(ctx) // without its server, a tool is judged by its name
			cancel()
		}
	}
	return c.World.Explain(ctx, c.everyTool(), name, input)
}

// TakeTools gives the agent the tools that MCP servers offer now, from the next request on.
func (c *Conversation) TakeTools() {
	c.taking.Lock()
	defer c.taking.Unlock()
	a := c.World.link.Agent()
	if a == nil {
		return
	}
	if err := a.SetTools(c.everyTool()); err != nil {
		c.World.link.Warn("mcp", "Could not load tools from MCP servers: "+err.Error())
	}
}

// everyTool is every tool there is with what servers offer now.
func (c *Conversation) everyTool() *tool.Set {
	session := *c.Agent.Tools().Session()
	foreign, ok := c.MCP.Tools()
	if !ok {
		return c.pool.Set(&session)
	}
	session.Flags = maps.Clone(session.Flags)
	session.Flags[mcpresource.Flag] = true // also if a program has just set the first server
	return c.pool.Set(&session, foreign...)
}

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

// checkPlugins tells the user which plugins have updates, if the settings say so, and looks
// for new ones once a day beside the conversation.
func (c *Conversation) checkPlugins(interactive bool) {
	p := c.World.Project
	if !p.Counts.Flag("plugins", "checkForUpdates") {
		return
	}
	store, err := market.Open(p.Home)
	if err != nil {
		return
	}
	found, at := store.Found()
	for _, u := range found {
		c.World.link.Tell(u.String())
	}
	if !interactive || time.Since(at) < 24*time.Hour {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.stopChecking = cancel
	go func() {
		if _, err := store.Check(ctx); err != nil && !errors.Is(err, context.Canceled) {
			c.World.link.Warn("plugins", "Could not look for updates of plugins: "+err.Error())
		}
	}()
}

// carry is what a compaction must not lose.
func (c *Conversation) carry() []string {
	return append(sysprompt.Carry(c.plan.Load(), c.pool.builtins.Todos, c.pool.builtins.Tasks), c.skills.carry("")...)
}

// Answer answers a question about a call for someone who watches, and reports whether the
// answer counts: the first one does.
func (c *Conversation) Answer(id string, v tool.Verdict, by string) bool {
	v.By = by
	return c.questions.calls.Answer(id, v)
}

// AnswerElicitation answers what an MCP server wants to know, as Answer does.
func (c *Conversation) AnswerElicitation(id string, a mcp.Answer, by string) bool {
	return c.questions.forms.Answer(id, formAnswer{a, cmp.Or(a.By, by), true})
}

// schedule returns the prompts that the conversation will be sent later, as they were
// stored. Those of a fork are sent to the session that it was made from.
func (c *Conversation) schedule(o *TalkOptions, restored *session.Restored) *schedule.Schedule {
	opts := &schedule.Options{Clock: o.Clock, Fire: c.wake, Changed: func(jobs []schedule.Job) { c.World.link.Save(stateSchedule, jobs) }}
	if !o.Fork {
		opts.Jobs = state[[]schedule.Job](restored, stateSchedule)
	}
	return schedule.New(opts)
}

// wake sends the conversation a prompt that is due, once it is idle. A prompt that is still
// queued is not sent twice.
func (c *Conversation) wake(j schedule.Job) {
	why := ""
	if j.Reason != "" {
		why = " Your reason was: " + j.Reason
	}
	text := fmt.Sprintf("<scheduled-prompt id=%q>\nYou scheduled this at %s (%s); the user did not type it.%s\n</scheduled-prompt>\n%s", j.ID, j.Created.Format("2006-01-02 15:04"), j.Human, why, j.Prompt)
	waits := func(p agent.Prompt) bool { return len(p.Content) == 1 && p.Content[0].Text == text }
	if slices.ContainsFunc(c.Agent.Queued(), waits) {
		return
	}
	c.Agent.Send(agent.Prompt{Origin: agent.TaskNotification, Priority: agent.Later, Content: []model.Block{model.TextOf(text)}})
}

// Send sends a message to the agent; see [agent.Agent.Send]. If it mentions a resource of
// an MCP server as @server:uri, the model is told how to read it: reading is a call like
// any other, judged and limited.
func (c *Conversation) Send(p agent.Prompt) {
	said := slices.Clone(p.Content)
	if p.Origin != "" || p.Silent {
		said = nil // it is not the user's
	}
	for _, b := range said {
		if b.Type != model.Text {
			continue
		}
		for _, word := range mention.Paths(b.Text) {
			if server, uri, ok := c.MCP.Mentioned(word); ok {
				p.Content = append(slices.Clip(p.Content), model.TextOf(fmt.Sprintf("@%s is the resource %s of the MCP server %s: read it with ReadMcpResource.", word, uri, server)))
				p.Change = withReadMcpResource(p.Change)
			}
		}
	}
	c.Agent.Send(p)
}

// WithFiles adds the files and folders that the text of a prompt mentions, if the model may
// read them: all of them, or none with the reason.
func (c *Conversation) WithFiles(ctx context.Context, p agent.Prompt, text string) (agent.Prompt, error) {
	files, media, err := c.Input().Mentioned(ctx, text)
	if err != nil {
		return p, fmt.Errorf("could not add a file that the prompt mentions: %w", err)
	}
	p.Content = slices.Clone(p.Content)
	if files != "" {
		p.Content = append(p.Content, model.TextOf(files))
	}
	for _, b := range media {
		p.Content = append(p.Content, model.ContentOf(b))
	}
	return p, nil
}

// ReadMedia returns an image or document, if the model may read it.
func (c *Conversation) ReadMedia(ctx context.Context, path string) ([]model.Block, error) {
	input, err := json.Marshal(map[string]string{"file_path": path})
	if err != nil {
		return nil, err
	}
	r, err := c.Call(ctx, prompt.Request{Tool: "Read", Input: input, Allow: []string{"Read"}})
	var blocks []model.Block
	for _, b := range r.Content {
		blocks = append(blocks, model.ContentOf(b))
	}
	return blocks, err
}

// WorkList is the work to do, as [agent.Changed] reports it: the tasks of the session, or
// the to-dos of the main agent.
func (c *Conversation) WorkList() any {
	if store := c.pool.builtins.Tasks; store != nil {
		if list, err := store.Load(); err == nil && len(list.Tasks) > 0 {
			return list.Tasks
		}
	}
	return c.pool.builtins.Todos.Items("")
}

// agreed keeps the plan that the user has agreed to.
func (c *Conversation) agreed(plan string) {
	c.plan.Store(&plan)
	c.World.link.Save(statePlan, plan)
}

// begin makes the parts of the conversation in order, each from those before it.
func (c *Conversation) begin(ctx context.Context, o *TalkOptions) error {
	w, restored, chosen := c.World, c.Journal().Restored(), o.Model
	w.Project.Library.Hold(time.Now().Add(starting))
	changed, err := c.goOn(o, restored)
	if err != nil {
		return err
	}
	audit, err := w.Audit()
	if err != nil {
		return err
	}
	if o.Forget {
		audit = nil // nothing of the session is written
		w.unsaved.Store(true)
	}
	if c.MCP, err = servers.New(&servers.Options{
		Given: o.MCP, Version: o.Version, Project: w.Project, Link: w.link, Reexec: w.Project.Options.Reexec,
		Roots:   func() []string { return w.Engine.Guard().Roots() },
		Model:   func() (model.Model, string) { return c.opts.Model, c.Agent.ContextUsage().Model },
		Changed: c.TakeTools,
	}); err != nil {
		return err
	}
	c.initTools(o, audit, restored)
	w.setAnswering(o)
	kept, keeper := w.keep(c.Journal(), o.Steps)
	c.kept.Store(&kept)
	mode := ""
	if o.Kept == nil {
		mode = w.resumeMode(state[string](restored, agent.StateMode))
	}
	if err := c.take(o.Kept, restored); err != nil {
		return err
	}
	if c.Agent, err = c.newAgent(o, kept, audit, chosen); err != nil {
		return err
	}
	w.link.Attach(c.Agent)
	c.judgesHooks(o.Client)
	w.warnOfSettings(c.lead)
	w.Crew.Begin(c.makeAgent)
	if err := c.name(ctx, o.Title); err != nil {
		return err
	}
	w.Crew.Remember(state[[]crew.Known](restored, stateAgents))
	w.link.Tell(mode, changed, waitedText(restored.Waited))
	w.settleWrites()
	if keeper != nil && restored.Messages > 0 {
		if err := w.recover(ctx, keeper); err != nil {
			return err
		}
	}
	c.checkPlugins(o.Interactive)
	if dir := c.Dir(); dir != w.Project.Home && dir != "/" && w.Project.Options.ToolHost == nil {
		c.prepare = time.AfterFunc(settle, func() { w.Search.Prepare(dir) })
	}
	if err := c.MCP.Start(state[[]mcp.Task](restored, servers.StateCalls)); err != nil {
		return err
	}
	if err := c.awaitToolHost(ctx, o.Version); err != nil {
		return errors.Join(err, c.MCP.Close())
	}
	c.pool.builtins.Schedule.Start()
	c.watched.open(c, o.Watch)
	c.traces = trace.Open(&trace.Options{
		Getenv: w.Project.ModelEnv().Get, Version: o.Version, Session: func() string { return c.Agent.Session() },
		Failed: func(why string) { w.link.Warn("traces", why) },
	})
	return c.Journal().PutDown()
}

// waitedText says that commands of an earlier process had to be stopped first, if that took
// a while.
func waitedText(d time.Duration) string {
	if d <= time.Second {
		return ""
	}
	return fmt.Sprintf("Commands from an earlier run of this session were still running. Stopping them took %.1f s.", d.Seconds())
}

// initTools gives the tools the conversation's own state, as it was stored.
func (c *Conversation) initTools(o *TalkOptions, audit sched.Recorder, restored *session.Restored) {
	w := c.World
	c.pool = w.Pool(w.Nested(w.aside(o, audit)))
	c.pool.lead = c.lead
	c.pool.loading = c.toolLoading(catalog.Lookup(o.Model).Context, state[bool](restored, agent.StatePlain))
	b := &c.pool.builtins
	b.Commands = w.Project.Library.Commands.With(c.MCP.Prompts)
	b.Servers, b.Agreed, b.PlanFile, b.Answer = c.MCP, c.agreed, w.Project.Kept.PlanFile, c.readsPages(o.Client)
	if b.SearchWeb == nil && c.Provider == "anthropic" && w.Project.ModelEnv().AsksAnthropic() {
		b.SearchWeb = providerSearch(o.Client, o.Model, func(name string, u model.Usage) { c.Agent.Spend(name, u) })
	}
	b.SkillLoaded = c.skills.loaded
	c.skills.recall(restored)
	b.TextHooks = c.hooks.loaded
	c.hooks.recall(restored)
	w.nested.Recall("", agent.Reminders(restored.History))
	w.recallReads(restored)
	w.Project.Kept.Recall(state[[]string](restored, stateKept))
	if dir := c.Journal().Dir(); dir != "" {
		w.Project.Kept.Add(filepath.Join(dir, "subagents"))
		if w.Project.Options.ToolHost == nil { // no tool could write it
			w.Project.Kept.BeginPlan(filepath.Join(dir, planName))
		}
		b.Tasks = task.NewStore(filepath.Join(dir, "tasks"), &task.StoreOptions{Changed: c.tasksChanged, Created: w.taskCreated, Completed: w.taskCompleted})
	}
	b.Todos = todo.NewList(&todo.ListOptions{Changed: c.todosChanged, Items: map[string][]todo.Item{"": state[[]todo.Item](restored, stateTodos)}})
	b.Schedule = c.schedule(o, restored)
	b.Notify = w.notifier(o.Interactive)
	if plan := state[string](restored, statePlan); plan != "" {
		c.plan.Store(&plan)
	}
	c.input = &slash.Input{Commands: b.Commands, Dir: c.Dir, Calls: b.Calls, Hooks: b.TextHooks, Fork: c.fork, Elsewhere: w.Project.Options.ToolHost != nil}
}

// providerSearch searches with the provider's own tool: a model is asked to use it, and the
// results are taken from the answer. Spend is called with the cost.
func providerSearch(client model.Model, name string, spend func(string, model.Usage)) websearch.Backend {
	return func(ctx context.Context, q websearch.Query) ([]websearch.Hit, error) {
		history := new(model.History)
		ask := "Search the web once for this, and then say in one sentence what was found: " + q.Text
		if err := history.Append(model.Message{Role: model.User, Content: []model.Block{model.TextOf(ask)}}); err != nil {
			return nil, err
		}
		tools, err := json.Marshal([]providerTool{newProviderTool(q)})
		if err != nil {
			return nil, err
		}
		found := new(findings)
		said, usage, err := whole(client.Stream(ctx, &model.Request{Model: name, Tools: tools, Messages: history, MaxTokens: maxSmallAnswer}), func(b model.Block) {
			found.read(b)
			q.Found(len(found.hits))
		})
		spend(name, usage)
		if err != nil {
			return nil, err
		}
		if len(found.hits) == 0 && found.failure != "" {
			return nil, fmt.Errorf("the provider's search failed: %s", found.failure)
		}
		if !found.searched {
			return nil, errors.New("the model did not search: " + strings.TrimSpace(said))
		}
		return found.hits, nil
	}
}

// fork returns what lets an agent of its own do a command that a user typed, and answers
// with its report; nil where there are no agents, so that the conversation does it.
func (c *Conversation) fork(k commands.Command, text string) func(context.Context) (string, error) {
	if c.Agent.Tools().Lookup("Agent") == nil {
		return nil
	}
	f := subagent.Fork{Text: subagent.Text{Kind: "command", Name: k.Name, Digest: k.Digest}, Agent: k.Agent, Model: k.Model, Prompt: text}
	if k.Origin == commands.Skill {
		f.Kind = "skill"
	}
	return func(ctx context.Context) (string, error) {
		if p := f.Check(c.World.Crew); p != nil {
			return "", errors.New(p.Message)
		}
		// There is no call that the agent works for; programs know its messages by this.
		r := c.World.Crew.Run(ctx, f.Job("forked-command-"+k.Name, ""), nil)
		switch r.Status {
		case subagent.Completed:
			return r.Text, nil
		case subagent.Empty:
			return fmt.Sprintf("/%s is done. Its agent gave no answer.", k.Name), nil
		case subagent.Moved:
			return fmt.Sprintf("/%s continues in the background, in the agent %s.", k.Name, r.ID), nil
		}
		return r.Text, fmt.Errorf("/%s did not finish (%s): %s", k.Name, r.Status, r.Why)
	}
}

// newAgent makes the agent of the conversation; chosen is the model that was asked for.
func (c *Conversation) newAgent(o *TalkOptions, kept agent.Journal, audit sched.Recorder, chosen string) (*agent.Agent, error) {
	w, restored := c.World, c.Journal().Restored()
	mode := w.Engine.Policy().Mode()
	list, agents := c.workList(o.Model, restored), w.Project.Limits().Agents
	session := &tool.Session{Interactive: o.Interactive, Mode: string(mode), Flags: map[string]bool{
		bash.BackgroundFlag: w.background(), mcpresource.Flag: c.MCP.Any(), todo.OffFlag: list != todoTool, task.OffFlag: list != taskTools,
		subagent.WaitFlag: agents.Wait, subagent.DirFlag: agents.Dirs,
	}}
	tools := c.pool.Set(session)
	style, _ := w.Project.Style() // what is wrong with it is a warning
	c.Style = style.Name
	nested := w.nested.Tell("")
	news := sysprompt.Together(nested, c.notes.Tell, c.MCP.Tell)
	source := "startup"
	if restored.Messages > 0 {
		source = "resume"
	}
	c.opts = agent.Options{
		Model: o.Client, ModelName: o.Model, PlanModel: o.planModel, Resolve: c.askable, System: sysprompt.System(o.System, style, o.AppendSystem, tools), Carry: c.carry,
		Facts: w.told(o.Model, agent.Reminders(restored.History)).Facts(sysprompt.Once(lostAgents(restored)), w.endedCommands(restored), sysprompt.Standing(w.Engine, o.Person != nil), sysprompt.Planning(w.Engine, o.PlanInstructions, o.Interactive, w.Project.Kept.PlanFile), news).Tell,
		News:  func(ctx context.Context) []string { return news(ctx, false) },
		Tools: tools, Person: o.Person, Permissions: permissions{w.Engine, w.Project}, Mode: string(mode), Hooks: w.Hooks, Busy: c.busy,
		Sched: sched.Options{
			Judge: w.judgeElsewhere(w.Engine.Policy, w.Engine), Hooks: w.CallHooks(), Askers: []sched.Asker{w.Hooks, c.classifier(o.Client)}, Questions: o.questions, Recorder: audit, Output: w.Project.Results(), Dir: w.Shell.Dir,
			SiblingErrors: w.Project.Limits().AfterFailure, Missing: c.MCP.WhyMissing,
		},
		Repeats: w.Project.Limits().Repeats,
		Journal: kept, History: restored.History, Revealed: state[[]string](restored, agent.StateRevealed), Refused: state[map[string]string](restored, agent.StateRefused), Source: source, Renew: c.renew(o),
		Spent: spent(restored), Beside: state[map[string]model.Usage](restored, agent.StateBeside), States: c.states(o, chosen),
		Limits: o.Limits, Thinking: o.Thinking, Effort: o.Effort, TaskBudget: o.TaskBudget, Betas: o.Betas, MaxTokens: o.maxTokens, Structured: o.Schema,
		Context: agent.Context{
			Window: func(name string) int64 { return cmp.Or(o.window, windowOf(name, o.Betas)) }, CompactAt: o.compactAt,
			Media: func(name string) int { return catalog.Lookup(name).MaxMedia() },
		},
		Cost: func(name string, u model.Usage) (float64, bool) { return catalog.Lookup(name).Cost(u) },
	}
	return agent.New(&c.opts)
}

// lostAgents says which agents were working when the session broke off.
func lostAgents(r *session.Restored) string {
	return crew.LostText(state[[]crew.Known](r, stateAgents))
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

// awaitToolHost connects to the machine where the tools run, so that the first request has
// them; a conversation without them does not begin. Version is that of this haft.
func (c *Conversation) awaitToolHost(ctx context.Context, version string) error {
	host := c.World.Project.Options.ToolHost
	if host == nil {
		return nil
	}
	status, err := c.MCP.AwaitToolHost(ctx)
	if err != nil {
		return fmt.Errorf("could not start the tools on %s: %w", host.Address, err)
	}
	if theirs := status.Info; theirs != nil && theirs.Version != version && isNumbered(theirs.Version) && isNumbered(version) {
		c.World.link.Warn("toolhost", fmt.Sprintf("%s has haft %s, and this is haft %s: install the same version on both.", host.Address, theirs.Version, version))
	}
	c.MCP.Refresh()
	return nil
}

// workList chooses how the conversation keeps its list of work: by the settings or the
// environment, by the tools that it is restricted to, by how the session began, or by what
// its model knows.
func (c *Conversation) workList(model string, restored *session.Restored) string {
	if chosen := c.World.chosenList(c.lead); chosen != "" {
		return chosen
	}
	if restored.Messages > 0 {
		switch begun := c.WorkList().(type) {
		case []task.Task:
			return taskTools
		case []todo.Item:
			if len(begun) > 0 {
				return todoTool
			}
		}
	}
	// The models to which the reference gives its Task tools were trained with them. Others
	// get the one tool that writes the whole list.
	if catalog.Lookup(model).Known {
		return taskTools
	}
	return todoTool
}

// A Mark goes through the stream of events, to show that all events before it were read. A
// front end that ranges over Run calls Reached when it comes to one.
type Mark struct {
	agent.Notice // an event; one without a text is not shown
	reached      chan struct{}
}

// Reached tells the waiting goroutine that the front end has come this far.
func (m Mark) Reached() { close(m.reached) }

// markTime bounds how long a question waits for what happened before it.
const markTime = time.Second

// withReadMcpResource returns the change with the tool in view that reads resources.
func withReadMcpResource(c *tool.Change) *tool.Change {
	var change tool.Change
	if c != nil {
		change = *c
	}
	const name = "ReadMcpResource"
	if !slices.Contains(change.Reveal, name) {
		change.Reveal = append(slices.Clip(change.Reveal), name)
	}
	return &change
}

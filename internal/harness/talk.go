package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness/crew"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/harness/servers"
	"github.com/haftdev/haft/internal/harness/slash"
	"github.com/haftdev/haft/internal/harness/sysprompt"
	"github.com/haftdev/haft/internal/harness/trace"
	"github.com/haftdev/haft/internal/harness/workdir"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	commands "github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/models/catalog"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/tools/mcpresource"
	"github.com/haftdev/haft/internal/tools/schedule"
	"github.com/haftdev/haft/internal/tools/subagent"
	"github.com/haftdev/haft/internal/tools/task"
	"github.com/haftdev/haft/internal/tools/todo"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// TalkOptions say which conversation to open, and how to run it. Nil means all zero values.
type TalkOptions struct {
	// Model is the name or alias of the model, Fallback that of the one to use when it is
	// overloaded; "" means that of the settings or the environment, and none.
	Model, Fallback string
	// Client answers; nil means the one that the environment describes.
	Client model.Model
	// System replaces the system prompt; nil means haft's own, one empty string none at
	// all. AppendSystem is added to either.
	System       []string
	AppendSystem string
	// Limits bound a turn.
	Limits agent.Limits
	// Thinking, Effort, TaskBudget and Betas are those of the requests.
	Thinking   *model.ThinkingOptions
	Effort     string
	TaskBudget int
	Betas      []string
	// Schema describes the structured answer that is wanted; nil means text.
	Schema json.RawMessage

	// Resume is the id of the session to continue, at the message ResumeAt; "" means a new
	// one, or the last one of this folder with Continue. Fork leaves it as it is and
	// continues in a new one. ID names a new one.
	Resume, ResumeAt string
	// Drops is the prompt of the only turn that ResumeAt may leave out; "" means that it
	// may leave out anything.
	Drops          string
	Continue, Fork bool
	ID             string
	// Sessions is where sessions are kept; nil means the user's files.
	Sessions *session.Store
	// Steps returns what records the steps of calls in place of the session, which it must tell
	// of each; nil means the session itself.
	Steps func(*session.Session) sched.Recorder
	// Forget keeps the session in memory only.
	Forget bool
	// PlanInstructions say how to plan, instead of haft's own text; "" keeps that.
	PlanInstructions string
	// Title is what the session is called; "" leaves it.
	Title string

	// Person answers what the rules leave open; nil means that no one does. Interactive
	// says that a user can be asked questions.
	Person      sched.Asker
	Interactive bool
	// ByProgram says that a program drives the conversation; if it decides about calls, it
	// decides about the calls themselves, not about previews.
	ByProgram bool
	// Here names the front end whose user is asked, in the journal and for observers; ""
	// means the program or the terminal.
	Here string
	// Watch makes the channel through which others watch and control the conversation; nil
	// means that no one can.
	Watch func(*Conversation) Channel
	// Driver takes what they say; nil means the agent itself.
	Driver Driver
	// MCP are servers in addition to those of the settings.
	MCP servers.Given
	// Version is written into the session.
	Version string
	// States are facts that are kept in the session, and in those that follow when it is
	// cleared, under their names.
	States map[string]any
	// Clock is the clock for scheduled prompts; nil means that of this machine.
	Clock schedule.Clock

	// Kept is what another conversation of the same user passes on; nil means nothing.
	Kept *Kept

	// What the environment says about requests; zero values mean that it does not.
	maxTokens int
	window    int64
	compactAt float64

	planModel string           // that answers in plan mode; "" if the same does
	questions *sched.Questions // that Person is asked; nil if there is none
}

// A Conversation is a world and an agent that works in it.
type Conversation struct {
	// Agent is the main agent. Prompts go through Send, and turns through Run, which handle
	// the MCP servers.
	Agent *agent.Agent
	World *World
	// Provider is who answers, and KeySource where its key comes from.
	Provider, KeySource string
	// Version is that of the program, Began when it opened the conversation.
	Version string
	Began   time.Time
	// MCP are its servers.
	MCP *servers.Servers
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
	notes     *sysprompt.Notes
	title     atomic.Pointer[string]
	kept      atomic.Pointer[agent.Journal] // the journal with its checkpoints
	opts      agent.Options                 // what agents that work for it begin with
	taking    sync.Mutex                    // while what servers offer is taken in: the last to look decides
	first     sync.Once
	prepare   *time.Timer // makes the list of files; nil in a folder of everything
	// stopChecking ends the search for updates of plugins; nil if there is none.
	stopChecking context.CancelFunc
	server       string // the address that is asked; "" of a client that was given
	small        string // a fast and cheap model of the same provider; "" if none is known
}

// Talk begins or resumes a conversation. Closing it closes the world.
func (w *World) Talk(ctx context.Context, o *TalkOptions) (*Conversation, error) {
	var opts TalkOptions
	if o != nil {
		opts = *o
	}
	if err := w.Project.Intact(); err != nil {
		return nil, startingWithout(err)
	}
	journal, err := w.openSession(ctx, &opts)
	if err != nil {
		return nil, err
	}
	lead, err := w.resumeLead(state[string](journal.Restored(), stateLead))
	if err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	if err := w.sameToolHost(state[string](journal.Restored(), stateToolHost)); err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	follow(lead, &opts, journal.Restored())
	if err := w.leadHooks(lead); err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	c := &Conversation{World: w, dirs: workdir.New(&workdir.Options{Root: w.Project.Dir, Shell: w.Shell, Interpreters: w.builtins.Interpreters, Link: w.link}), lead: lead, skills: skillTexts{link: w.link}, hooks: textHooks{world: w}, Version: opts.Version, Began: time.Now()}
	w.link.Begin(journal)
	c.questions = newQuestions(c, opts.here())
	if c.driver = opts.Driver; c.driver == nil {
		c.driver = undriven{c}
	}
	if opts.Person != nil {
		opts.Person, opts.questions = c.questions.person(opts.Person), c.questions.calls
	}
	if opts.MCP.Elicit != nil {
		opts.MCP.Elicit = c.questions.elicit(opts.MCP.Elicit)
	}
	if err := c.begin(ctx, &opts); err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	return c, nil
}

// here names a front end.
func (o *TalkOptions) here() string {
	switch {
	case o.Here != "":
		return o.Here
	case o.ByProgram:
		return "the program"
	}
	return "the terminal"
}

// startingWithout adds to the error about a settings file how a conversation starts without
// it.
func startingWithout(err error) error {
	var bad *project.UnreadableError
	if !errors.As(err, &bad) {
		return err
	}
	var rest []string
	for _, s := range bad.Rest {
		rest = append(rest, s.String())
	}
	if len(rest) == 0 {
		rest = []string{"''"}
	}
	return fmt.Errorf("%w, or start without it: --setting-sources %s", err, strings.Join(rest, ","))
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

// starting is for how long a start may take what it has read of skills, commands and agents
// for what their files say.
const starting = 2 * time.Second

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

// settle is when the list of files is made: the first request must not wait for it, and the
// first search should not have to.
const settle = 300 * time.Millisecond

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
			Window: func(name string) int64 { return cmp.Or(o.window, int64(catalog.Lookup(name).Context)) }, CompactAt: o.compactAt,
			Media: func(name string) int { return catalog.Lookup(name).MaxMedia() },
		},
		Cost: func(name string, u model.Usage) (float64, bool) { return catalog.Lookup(name).Cost(u) },
	}
	return agent.New(&c.opts)
}

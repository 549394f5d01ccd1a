package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/harness/crew"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/catalog"
	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/bash"
	"github.com/haftdev/haft/tool/mcpresource"
	"github.com/haftdev/haft/tool/task"
	"github.com/haftdev/haft/tool/todo"
)

// TalkOptions say which conversation, and how it is led. Nil means all zero
// values.
type TalkOptions struct {
	// Model is the name or alias of the model, Fallback that of the one to go on
	// with when it is overloaded; "" means that of the settings or the environment,
	// and none.
	Model, Fallback string
	// Client answers; nil means the one that the environment describes.
	Client model.Model
	// System replaces the system prompt; nil means haft's own, one empty string none
	// at all. AppendSystem is added to either.
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

	// Resume is the id of the session to go on with, at the message ResumeAt; ""
	// means a new one, or the last one of this folder with Continue. Fork leaves
	// it as it is and goes on in a new one. ID names a new one.
	Resume, ResumeAt string
	// Drops is the prompt of the only turn that ResumeAt may leave out; "" means that
	// it may leave out anything.
	Drops          string
	Continue, Fork bool
	ID             string
	// Forget keeps the session in memory only.
	Forget bool
	// PlanInstructions say how to plan, in place of haft's own words; "" leaves those.
	PlanInstructions string
	// Title is what the session is called; "" leaves it.
	Title string

	// Person answers what the rules leave open; nil means that nobody does.
	// Interactive says that a person can be asked questions.
	Person      sched.Asker
	Interactive bool
	// MCP are servers besides those of the settings.
	MCP MCPOptions
	// Version is written into the session.
	Version string
}

// A Conversation is a world and an agent that works in it.
type Conversation struct {
	*agent.Agent
	World *World
	// Provider is who answers, and KeySource where its key comes from.
	Provider, KeySource string

	journal atomic.Pointer[session.Session]
	title   atomic.Pointer[string]
	kept    atomic.Pointer[agent.Journal] // the journal with its checkpoints
	opts    agent.Options                 // what agents that work for it begin with
	servers *servers
	closing atomic.Bool
	first   sync.Once
	prepare *time.Timer // makes the list of files; nil in a folder of everything
	server  string      // the address that is asked; "" of a client that was given
	version string
	began   time.Time
	small   string // a quick and cheap model of the same provider; "" if none is known
}

// Talk begins or resumes a conversation. Closing it closes the world.
func (w *World) Talk(ctx context.Context, o *TalkOptions) (*Conversation, error) {
	var opts TalkOptions
	if o != nil {
		opts = *o
	}
	if err := w.userIntact(); err != nil {
		return nil, err
	}
	w.follow(&opts)
	c := &Conversation{World: w, version: opts.Version, began: time.Now()}
	journal, err := w.openSession(ctx, &opts)
	if err != nil {
		return nil, err
	}
	chosen := opts.Model
	other, err := c.goOn(&opts, journal.Restored())
	if err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	if w.SearchWeb == nil && c.Provider == "anthropic" && w.searchesItself() {
		w.SearchWeb = providerSearch(opts.Client, opts.Model, func(name string, u model.Usage) { c.Spend(name, u) })
	}
	w.window = catalog.Lookup(opts.Model).Context
	c.journal.Store(journal)
	if dir := journal.Dir(); dir != "" {
		w.Tasks = task.NewStore(filepath.Join(dir, "tasks"), &task.StoreOptions{Changed: w.tasksChanged})
	}
	w.Todos = todo.NewList(&todo.ListOptions{Changed: w.todosChanged, Items: map[string][]todo.Item{"": state[[]todo.Item](journal.Restored(), stateTodos)}})
	if plan := state[string](journal.Restored(), statePlan); plan != "" {
		w.plan.Store(&plan)
	}
	w.Answer = c.readsPages(opts.Client)
	if err := c.findServers(&opts); err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	kept, keeper := w.keep(journal)
	c.kept.Store(&kept)
	mode := w.resumeMode(state[string](journal.Restored(), agent.StateMode))
	if c.Agent, err = c.newAgent(&opts, kept, chosen); err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	w.begin(c.Agent)
	w.conversation.Store(c)
	if err := c.name(ctx, opts.Title); err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	w.crew.Remember(state[[]crew.Known](journal.Restored(), stateAgents))
	for _, text := range []string{mode, other} {
		if text != "" {
			w.emit(agent.Notice{Level: "info", Text: text})
		}
	}
	if waited := journal.Restored().Waited; waited > time.Second {
		w.emit(agent.Notice{Level: "info", Text: fmt.Sprintf("Commands of an earlier process of this session were still running; it took %.1f s until they were ended.", waited.Seconds())})
	}
	w.settleWrites()
	if keeper != nil && journal.Restored().Messages > 0 {
		if err := w.recover(ctx, keeper); err != nil {
			return nil, errors.Join(err, journal.Close())
		}
	}
	if dir := w.Shell.Dir(""); dir != w.Home && dir != "/" {
		c.prepare = time.AfterFunc(settle, func() { w.World.Search.Prepare(dir) })
	}
	if err := c.startServers(); err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	return c, nil
}

// settle is when the list of files is made: the first request must not wait for
// it, and the first search should not have to.
const settle = 300 * time.Millisecond

// openSession finds or begins the session.
func (w *World) openSession(ctx context.Context, o *TalkOptions) (*session.Session, error) {
	store, dir := session.Open(""), w.Shell.Dir("")
	id := o.Resume
	if o.Continue && id == "" {
		var err error
		if id, err = store.Latest(dir); err != nil && !errors.Is(err, session.ErrNotFound) {
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
			return nil, fmt.Errorf("%w. Run 'haft sessions list --all' for what there is", err)
		}
		return s, err
	case o.Forget:
		return session.Memory(cmp.Or(o.ID, session.NewUUID())), nil
	}
	return store.Create(ctx, &session.CreateOptions{ID: o.ID, Cwd: dir, Version: o.Version})
}

// rejected is what programs look for in the error of a resume that would lose too
// much.
const rejected = "Resume rejected by --resume-drops-turn"

// newAgent makes the agent of the conversation; chosen is the model that somebody
// asked for.
func (c *Conversation) newAgent(o *TalkOptions, kept agent.Journal, chosen string) (*agent.Agent, error) {
	w, restored := c.World, c.Journal().Restored()
	audit, err := w.Audit()
	if err != nil {
		return nil, err
	}
	mode := w.Engine.Policy().Mode()
	session := &tool.Session{Interactive: o.Interactive, Mode: string(mode), Flags: map[string]bool{bash.BackgroundFlag: true, mcpresource.Flag: c.servers.any()}}
	w.Calls = w.Nested(w.aside(o, audit))
	tools := w.Set(session)
	source := "startup"
	if restored.Messages > 0 {
		source = "resume"
	}
	c.opts = agent.Options{
		Model: o.Client, ModelName: o.Model, Resolve: c.askable, System: w.system(o, tools), Facts: w.facts(together(once(lostAgents(restored)), w.planning(o.PlanInstructions))).Tell, Carry: w.carry,
		Tools: tools, Person: o.Person, Permissions: permissions{w.Engine, w.Project}, Mode: string(mode), Hooks: w.Hooks,
		Sched: sched.Options{
			Judge: w.Engine, Hooks: w.CallHooks(), Askers: []sched.Asker{w.Hooks, c.classifier(o.Client)}, Recorder: audit, Output: Results(),
			SiblingErrors: w.afterFailure(),
		},
		Repeats: w.repeats(),
		Journal: kept, History: restored.History, Revealed: state[[]string](restored, agent.StateRevealed), Source: source, Renew: c.renew(o),
		Spent: spent(restored), Beside: state[map[string]model.Usage](restored, agent.StateBeside), States: c.states(o, chosen),
		Limits: o.Limits, Thinking: o.Thinking, Effort: o.Effort, TaskBudget: o.TaskBudget, Betas: o.Betas, Structured: o.Schema,
		Context: agent.Context{Window: func(name string) int64 { return int64(catalog.Lookup(name).Context) }},
		Cost:    func(name string, u model.Usage) (float64, bool) { return catalog.Lookup(name).Cost(u) },
	}
	return agent.New(&c.opts)
}

// states are what whoever resumes the session needs to ask the same model and to be
// as careful, if it does not know it yet.
func (c *Conversation) states(o *TalkOptions, chosen string) map[string]any {
	restored, states := c.Journal().Restored(), map[string]any{}
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
	return states
}

// spent is what the answers of a session have used, by the names that their models
// have prices under.
func spent(r *session.Restored) map[string]model.Usage {
	used := make(map[string]model.Usage)
	for name, u := range r.Usage {
		name = cmp.Or(state[string](r, agent.StateAsked+name), name)
		used[name] = used[name].Add(u)
	}
	return used
}

// state is what a session that is resumed knows under a name; the zero value if it
// knows nothing.
func state[T any](r *session.Restored, name string) (v T) {
	_ = json.Unmarshal(r.States[name], &v) // what cannot be read is not known
	return v
}

// renew begins the session that follows a clearing of the conversation.
func (c *Conversation) renew(o *TalkOptions) func(context.Context) (agent.Journal, error) {
	return func(ctx context.Context) (agent.Journal, error) {
		next, err := c.World.openSession(ctx, &TalkOptions{Forget: o.Forget, Version: o.Version})
		if err != nil {
			return nil, err
		}
		c.World.plan.Store(nil)
		kept, _ := c.World.keep(next)
		c.kept.Store(&kept)
		c.title.Store(nil)
		return kept, c.journal.Swap(next).Close()
	}
}

// once tells something the first time that it is asked.
func once(text string) func(context.Context, bool) []string {
	return func(context.Context, bool) (facts []string) {
		if text != "" {
			facts, text = []string{text}, ""
		}
		return facts
	}
}

// Journal is the session on the disk; clearing the conversation begins another.
func (c *Conversation) Journal() *session.Session { return c.journal.Load() }

// Dir is where the conversation works.
func (c *Conversation) Dir() string { return c.World.Shell.Dir("") }

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

// CostText says what the session has cost, for people.
func (c *Conversation) CostText() string {
	usd, unknown := 0.0, false
	for _, u := range c.Usage() {
		usd += u.Cost
		unknown = unknown || u.Unpriced
	}
	if unknown {
		return fmt.Sprintf("This session has cost $%.4f, and what a model without a known price costs.", usd)
	}
	return fmt.Sprintf("This session has cost $%.4f.", usd)
}

// Agents are those of the session that can be spoken to: at work, finished, or lost
// with an earlier process.
func (c *Conversation) Agents() []crew.Known { return c.World.crew.List() }

// StopTask ends a command in the background, an agent or a call of an MCP server.
func (c *Conversation) StopTask(_ context.Context, id string) error {
	if _, _, ok := c.World.crew.About(id); ok {
		c.World.crew.Stop(id)
		return nil
	}
	if c.servers.long.stop(id) {
		return nil
	}
	task, ok := c.World.host.Task(id)
	if !ok {
		return fmt.Errorf("there is no task %q", id)
	}
	task.Stop()
	return nil
}

// Run takes up what is queued; see [agent.Agent.Run]. The first one waits for MCP
// servers, if it is to.
func (c *Conversation) Run(ctx context.Context) iter.Seq2[agent.Event, error] {
	return c.RunAwaiting(ctx, func(agent.Task) bool { return true })
}

// RunAwaiting is Run that waits in the end only for tasks for which awaits holds.
func (c *Conversation) RunAwaiting(ctx context.Context, awaits func(agent.Task) bool) iter.Seq2[agent.Event, error] {
	c.first.Do(func() { c.awaitServers(ctx) })
	return c.Agent.RunAwaiting(ctx, awaits)
}

// Close ends the conversation and everything it has started.
func (c *Conversation) Close(ctx context.Context) error {
	if c.prepare != nil {
		c.prepare.Stop()
	}
	c.closing.Store(true)
	c.Agent.Close(ctx, "other")
	return errors.Join(c.servers.close(), c.World.Close(), c.Journal().Close())
}

// Package crew runs the agents that other agents start.
//
//	c := crew.New(&crew.Options{Kinds: kinds, Emit: main.Emit, …})
//	defer c.Close()
//	c.Begin(makeAgent)
//	tools := subagent.New(c)
//
// Every agent is a goroutine with a conversation of its own in this process. A
// [Crew] bounds how many there are, how deep they start each other and how long
// one may be silent, says what each does, and always has a report: of one that
// finished, and of one that did not, with what it had said so far.
//
// A Crew is safe for concurrent use; closing it stops everybody.
package crew

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/tools/subagent"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// Options are what a crew is made of. Emit must be set.
type Options struct {
	// Kinds lists the agents that there are; nil means none by name.
	Kinds func() []subagent.Kind
	// Emit puts an event into the stream of the main conversation, Notify tells it
	// that a task in the background has ended, and Say speaks to it.
	Emit   func(agent.Event)
	Notify func(agent.Task)
	Say    func(text string)
	// Spend counts what an agent used as the main conversation's; nil counts nothing.
	Spend func(name string, u model.Usage)
	// Save keeps what is known of the crew, for [Lost] after a crash; nil keeps nothing.
	Save func([]Known)

	// MaxRunning is how many may work at once, MaxDepth how deep they may start each
	// other; 0 means 64 and 2.
	MaxRunning, MaxDepth int
	// MaxTokens is what one may use; 0 means no bound.
	MaxTokens int64
	// FirstToken is how long a model may take to begin an answer, Idle how long an
	// agent may be silent while no tool runs; 0 means 3 and 5 minutes.
	FirstToken, Idle time.Duration
	// Keep is how many that have finished are held in memory, and how many more are
	// known by their transcripts; 0 means 64.
	Keep int
}

// A MakeFunc makes the agent of a job.
type MakeFunc func(context.Context, Spec) (*Made, error)

// A Spec is an agent to make.
type Spec struct {
	subagent.Job
	ID    string
	Depth int // 1 for one that the main conversation starts
	// Again is set for one that worked before in this session and is to continue with
	// what it knew then.
	Again bool
}

// Made is an agent that was made.
type Made struct {
	Agent *agent.Agent
	// Kind and Model are what the job's came to be.
	Kind, Model string
	// Output is the file of its transcript; "" means none.
	Output string
	// Spawns are the kinds of agents that it may start itself; nil means any.
	Spawns []string
	// Reopen gets what Close ended ready before the agent works again; nil means that
	// there is nothing.
	Reopen func(context.Context) error
	// Close ends what it has started, and says where its work is if that is in a copy
	// of the repository; nil means that there is nothing. It may work again afterwards.
	Close func() (worktree, branch string)
}

// A Crew is the agents of one session.
type Crew struct {
	opts Options
	ctx  context.Context // ends with the crew
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu      sync.Mutex
	make    MakeFunc // nil before Begin
	members map[string]*member
	past    map[string]Known  // who worked before this process
	teams   map[string]string // name to description
	running int
	order   []string // ids, the one that was used last at the end

	saving sync.Mutex
}

// New returns a crew of nobody, which can work after Begin.
func New(opts *Options) *Crew {
	c := &Crew{opts: *opts, members: make(map[string]*member), past: make(map[string]Known), teams: make(map[string]string)}
	c.opts.MaxRunning = cmp.Or(c.opts.MaxRunning, 64)
	c.opts.MaxDepth = cmp.Or(c.opts.MaxDepth, 2)
	c.opts.FirstToken = cmp.Or(c.opts.FirstToken, 3*time.Minute)
	c.opts.Idle = cmp.Or(c.opts.Idle, 5*time.Minute)
	c.opts.Keep = cmp.Or(c.opts.Keep, 64)
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
}

// Begin lets the crew work: make makes its agents.
func (c *Crew) Begin(make MakeFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.make = make
}

func (c *Crew) makeAgent(ctx context.Context, s Spec) (*Made, error) {
	c.mu.Lock()
	make := c.make
	c.mu.Unlock()
	if make == nil {
		return nil, errors.New("sub-agents need an active conversation")
	}
	return make(ctx, s)
}

// Close stops everybody and waits for them.
func (c *Crew) Close() {
	c.stop()
	c.wg.Wait()
}

// Agents lists those that work can be given to.
func (c *Crew) Agents() []subagent.Kind {
	if c.opts.Kinds == nil {
		return nil
	}
	return c.opts.Kinds()
}

// Run gives a job to a new agent and waits for it.
func (c *Crew) Run(ctx context.Context, j subagent.Job, progress func(tool.AgentProgress)) subagent.Report {
	m, err := c.spawn(ctx, j, false)
	if err != nil {
		return subagent.Report{Kind: j.Kind, Status: subagent.Failed, Why: err.Error()}
	}
	return c.await(ctx, m, progress)
}

// await lets a member work and waits for it, or until it is moved to the background.
func (c *Crew) await(ctx context.Context, m *member, progress func(tool.AgentProgress)) subagent.Report {
	done := make(chan subagent.Report, 1)
	unlink := context.AfterFunc(ctx, func() { m.state.stop(context.Cause(ctx)) })
	defer unlink()
	c.wg.Go(func() {
		stop := context.AfterFunc(c.ctx, func() { m.state.stop(errStopped) })
		defer stop()
		report := m.work(context.WithoutCancel(ctx), m.whileAwaited(progress))
		done <- report
		if m.state.wasDetached() && c.ctx.Err() == nil {
			c.tell(m.job.Caller, m.task(&report))
		}
	})
	select {
	case report := <-done:
		return report
	case <-m.state.detached:
		return subagent.Report{ID: m.id, Kind: m.made.Kind, Status: subagent.Moved, Output: m.made.Output}
	}
}

// Background moves the agent that a call waits for to the background; "" means all
// those that the main conversation waits for. It reports whether there was any.
func (c *Crew) Background(useID string) bool {
	c.mu.Lock()
	var list []*member
	for _, m := range c.members {
		if busy, _ := m.state.busy(); busy && (m.job.UseID == useID || useID == "" && m.job.Caller == "") {
			list = append(list, m)
		}
	}
	c.mu.Unlock()
	any := false
	for _, m := range list {
		if m.state.detach() {
			any = true
			c.opts.Emit(agent.TaskChanged{Change: "updated", Task: m.task(nil)})
		}
	}
	return any
}

// Start gives a job to a new agent that works on beside its caller.
func (c *Crew) Start(ctx context.Context, j subagent.Job) (subagent.Started, error) {
	m, err := c.spawn(ctx, j, true)
	if err != nil {
		return subagent.Started{}, tool.Errorf("%w", err)
	}
	c.runInBackground(m)
	return subagent.Started{ID: m.id, Kind: m.made.Kind, Output: m.made.Output}, nil
}

// runInBackground lets a member work on its own, and tells when it is done.
func (c *Crew) runInBackground(m *member) {
	c.wg.Go(func() {
		report := m.work(c.ctx, nil)
		if c.ctx.Err() == nil {
			c.tell(m.job.Caller, m.task(&report))
		}
	})
}

// tell tells the one who gave the work that it has ended, or the main conversation
// if that one is not at work any more.
func (c *Crew) tell(caller string, t agent.Task) {
	if c.Notify(caller, t) {
		c.opts.Emit(agent.TaskChanged{Change: "ended", Task: t})
		return
	}
	c.opts.Notify(t)
}

// Notify tells an agent, if it is at work, that a task of its own has ended.
func (c *Crew) Notify(id string, t agent.Task) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.members[id]
	if m == nil {
		return false
	}
	if _, takesTurns := m.state.busy(); !takesTurns {
		return false
	}
	m.made.Agent.Notify(t)
	return true
}

// Heard tells an agent that a result has told it of the end of a task.
func (c *Crew) Heard(id, task string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.members[id]; m != nil && m.made.Agent != nil {
		m.made.Agent.Heard(task)
	}
}

// spawn makes an agent and counts it as running.
func (c *Crew) spawn(ctx context.Context, j subagent.Job, background bool) (*member, error) {
	depth, err := c.admit(j)
	if err != nil {
		return nil, err
	}
	id := "a" + strings.ToLower(rand.Text()[:12])
	made, err := c.makeAgent(ctx, Spec{Job: j, ID: id, Depth: depth})
	if err != nil {
		c.release()
		return nil, err
	}
	m := &member{crew: c, id: id, job: j, depth: depth, made: made, began: time.Now(), state: newWorking(background)}
	made.Agent.Send(agent.Typed(j.Prompt))
	c.mu.Lock()
	c.members[id] = m
	c.markUsed(id)
	c.mu.Unlock()
	c.opts.Emit(agent.TaskChanged{Change: "started", Task: m.task(nil)})
	c.save()
	return m, nil
}

// newWorking is the state of an agent that is about to work.
func newWorking(background bool) *state {
	return &state{phase: working, background: background, rested: make(chan struct{}), detached: make(chan struct{})}
}

// admit checks that there is room for one more, and takes the place.
func (c *Crew) admit(j subagent.Job) (depth int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	depth = 1
	var spawns []string
	if caller, ok := c.members[j.Caller]; ok {
		depth, spawns = caller.depth+1, caller.made.Spawns
	}
	switch {
	case c.ctx.Err() != nil:
		return 0, errStopped
	case depth > c.opts.MaxDepth:
		return 0, fmt.Errorf("agents may be nested at most %d deep; do this part yourself", c.opts.MaxDepth)
	case spawns != nil && !slices.Contains(spawns, j.Kind):
		return 0, fmt.Errorf("you may only start agents of these types: %s", strings.Join(spawns, ", "))
	case c.running >= c.opts.MaxRunning:
		return 0, fmt.Errorf("agent limit reached (%d running); wait for one to finish", c.running)
	case j.Team != "" && c.teamless(j.Team):
		return 0, fmt.Errorf("there is no team %q; create it with TeamCreate", j.Team)
	case j.Name != "" && c.named(j.Team, j.Name) != nil:
		return 0, fmt.Errorf("there is already an agent named %q; choose another name", j.Name)
	}
	c.running++
	return depth, nil
}

// release frees a place that admit took.
func (c *Crew) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
}

func (c *Crew) teamless(name string) bool {
	_, ok := c.teams[name]
	return !ok
}

// markUsed notes that an agent was used, and lets go of the one that was not for the
// longest time if too many are kept. It is made again from its transcript if need be.
func (c *Crew) markUsed(id string) {
	c.order = append(slices.DeleteFunc(c.order, func(o string) bool { return o == id }), id)
	idle := len(c.members) - c.running
	for _, old := range slices.Clone(c.order) {
		if idle <= c.opts.Keep {
			return
		}
		m := c.members[old]
		if m == nil {
			continue
		}
		if busy, _ := m.state.busy(); !busy {
			if m.made.Output != "" {
				c.past[old] = m.known()
			}
			c.forget()
			delete(c.members, old)
			c.order = slices.DeleteFunc(c.order, func(o string) bool { return o == old })
			idle--
		}
	}
}

// forget lets go of the oldest of those that are only known.
func (c *Crew) forget() {
	if len(c.past) > c.opts.Keep {
		oldest := slices.MinFunc(slices.Collect(maps.Values(c.past)), func(a, b Known) int { return a.Began.Compare(b.Began) })
		delete(c.past, oldest.ID)
	}
}

// Stop stops one agent, and nobody else. It reports whether it was at work.
func (c *Crew) Stop(id string) bool {
	c.mu.Lock()
	m := c.members[id]
	c.mu.Unlock()
	if m == nil {
		return false
	}
	busy, _ := m.state.busy()
	if busy {
		m.state.stop(errStopped)
	}
	return busy
}

// List returns everybody that can be spoken to, in the order of their ids.
func (c *Crew) List() []Known {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := maps.Clone(c.past)
	for id, m := range c.members {
		all[id] = m.known()
	}
	return slices.SortedFunc(maps.Values(all), func(a, b Known) int { return cmp.Compare(a.ID, b.ID) })
}

// Listed is List as a model sees it.
func (c *Crew) Listed() []subagent.Listed {
	var all []subagent.Listed
	for _, k := range c.List() {
		all = append(all, subagent.Listed{
			ID: k.ID, Kind: k.Kind, Name: k.Name, Team: k.Team, Description: k.Description, State: k.State(), Tokens: k.Tokens, ToolUses: k.ToolUses, Began: k.Began,
		})
	}
	return all
}

// Kind is that of an agent; "" if there is none of the id.
func (c *Crew) Kind(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.members[id]; m != nil {
		return m.made.Kind
	}
	return ""
}

// Caller is the agent that started another; "" if the main conversation did, or if it is not
// known.
func (c *Crew) Caller(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.members[id]; m != nil {
		return m.job.Caller
	}
	return ""
}

// About says what an agent does, and where its transcript is; see [bash.Agents].
func (c *Crew) About(id string) (work, transcript string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.members[id]; m != nil {
		return m.job.Description, m.made.Output, true
	}
	k, ok := c.past[id]
	return k.Description, "", ok
}

// save keeps what is known, so that a session that is resumed can say who is gone
// and continue with those who are not needed to be.
func (c *Crew) save() {
	if c.opts.Save != nil {
		c.saving.Lock() // the last to be written is the last that was seen
		defer c.saving.Unlock()
		c.opts.Save(c.List())
	}
}

// Remember takes in who worked before this process. They can be spoken to as if
// they had finished.
func (c *Crew) Remember(known []Known) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range known {
		if k.Running {
			k.Running, k.Status = false, Lost
		}
		c.past[k.ID] = k
		if k.Team != "" {
			c.teams[k.Team] = ""
		}
		c.forget()
	}
}

// Send brings a message to an agent. One that works hears it at its next
// boundary; one that has finished works again.
func (c *Crew) Send(ctx context.Context, msg subagent.Message) (subagent.Sent, error) {
	from := c.nameOf(msg.From)
	text := fmt.Sprintf("Message from %s:\n%s", from, msg.Text)
	if msg.To == main || msg.To == "team-lead" {
		c.opts.Say(text)
		return subagent.Sent{To: main}, nil
	}
	if msg.To == "*" {
		return c.broadcast(ctx, msg, text)
	}
	m, err := c.find(ctx, msg.From, msg.To)
	if err != nil {
		return subagent.Sent{}, err
	}
	woken, err := c.deliver(ctx, m, text)
	return subagent.Sent{To: msg.To, Woken: woken}, err
}

func (c *Crew) broadcast(ctx context.Context, msg subagent.Message, text string) (subagent.Sent, error) {
	c.mu.Lock()
	var others []*member
	team := ""
	if sender := c.members[msg.From]; sender != nil {
		team = sender.job.Team
	}
	for _, m := range c.members {
		if m.id != msg.From && m.job.Team != "" && (team == "" || m.job.Team == team) {
			others = append(others, m)
		}
	}
	c.mu.Unlock()
	for _, m := range others {
		if _, err := c.deliver(ctx, m, text); err != nil {
			return subagent.Sent{}, err
		}
	}
	return subagent.Sent{To: fmt.Sprintf("%d agents", len(others))}, nil
}

// deliver sends a prompt to a member, and lets it work if it does not.
func (c *Crew) deliver(ctx context.Context, m *member, text string) (woken bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	busy, takesTurns := m.state.busy()
	for busy && !takesTurns {
		rested := m.state.waitRested()
		c.mu.Unlock()
		select {
		case <-rested:
		case <-ctx.Done():
		}
		c.mu.Lock()
		if err := ctx.Err(); err != nil {
			return false, err
		}
		busy, takesTurns = m.state.busy()
	}
	if busy {
		m.made.Agent.Send(agent.Typed(text))
		return false, nil
	}
	if c.ctx.Err() != nil {
		return false, tool.Errorf("The session is being closed.")
	}
	if c.running >= c.opts.MaxRunning {
		return false, tool.Errorf("Agent limit reached (%d running); wait for one to finish.", c.running)
	}
	m.state.wake()
	c.running++
	c.markUsed(m.id)
	m.made.Agent.Send(agent.Typed(text))
	c.opts.Emit(agent.TaskChanged{Change: "started", Task: m.task(nil)})
	c.runInBackground(m)
	return true, nil
}

// find looks for an agent by its id, or by its name in the sender's team. One that
// worked before this process is made again.
func (c *Crew) find(ctx context.Context, from, to string) (*member, error) {
	if m := c.lookup(from, to); m != nil {
		return m, nil
	}
	c.mu.Lock()
	k, ok := c.past[to]
	for _, other := range c.past {
		if !ok && to != "" && other.Name == to {
			k, ok = other, true
		}
	}
	c.mu.Unlock()
	if !ok {
		return nil, tool.Errorf("There is no agent %q in this session. Agents: %s.", to, strings.Join(c.names(), ", "))
	}
	return c.revive(ctx, k)
}

// revive makes an agent again that worked before this process.
func (c *Crew) revive(ctx context.Context, k Known) (*member, error) {
	j := subagent.Job{UseID: k.UseID, Description: k.Description, Kind: k.Kind, Model: k.Model, Name: k.Name, Team: k.Team, Worktree: k.Worktree, Dir: k.Dir, Text: k.Text}
	made, err := c.makeAgent(ctx, Spec{Job: j, ID: k.ID, Depth: max(1, k.Depth), Again: true})
	if err != nil {
		return nil, tool.Errorf("The agent %s cannot continue: %w.", k.ID, err)
	}
	m := &member{crew: c, id: k.ID, job: j, depth: max(1, k.Depth), made: made, began: k.Began, state: newResting(k.Status)}
	m.activity.tokens, m.activity.before, m.activity.uses = k.Tokens, k.Tokens, k.ToolUses
	c.mu.Lock()
	defer c.mu.Unlock()
	if there := c.members[k.ID]; there != nil { // another program was faster
		return there, nil
	}
	delete(c.past, k.ID)
	c.members[k.ID] = m
	return m, nil
}

func (c *Crew) lookup(from, to string) *member {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.members[to]; m != nil {
		return m
	}
	team := ""
	if sender := c.members[from]; sender != nil {
		team = sender.job.Team
	}
	if m := c.named(team, to); m != nil {
		return m
	}
	for _, m := range c.members { // the main conversation leads every team
		if from == "" && m.job.Name == to {
			return m
		}
	}
	return nil
}

func (c *Crew) named(team, name string) *member {
	for _, m := range c.members {
		if m.job.Team == team && m.job.Name == name && name != "" {
			return m
		}
	}
	return nil
}

func (c *Crew) nameOf(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.members[id]
	switch {
	case m == nil:
		return main
	case m.job.Name != "":
		return m.job.Name
	}
	return id
}

func (c *Crew) names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := []string{main}
	for id, m := range c.members {
		names = append(names, cmp.Or(m.job.Name, id))
	}
	for id, k := range c.past {
		names = append(names, cmp.Or(k.Name, id))
	}
	slices.Sort(names)
	return names
}

// NewTeam begins a team.
func (c *Crew) NewTeam(_ context.Context, name, description string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.teams[name]; ok {
		return "", tool.Errorf("There is already a team %q.", name)
	}
	c.teams[name] = description
	return name, nil
}

// EndTeam stops the members of a team. Those who were in it can still be spoken to
// by their ids.
func (c *Crew) EndTeam(_ context.Context, name string) ([]string, error) {
	c.mu.Lock()
	if _, ok := c.teams[name]; !ok {
		c.mu.Unlock()
		return nil, tool.Errorf("There is no team %q.", name)
	}
	delete(c.teams, name)
	var stopped []string
	for _, m := range c.members {
		if m.job.Team != name {
			continue
		}
		if busy, _ := m.state.busy(); busy {
			stopped = append(stopped, cmp.Or(m.job.Name, m.id))
			defer m.state.stop(errStopped)
		}
		m.job.Team, m.job.Name = "", ""
	}
	for id, k := range c.past {
		if k.Team == name {
			k.Team, k.Name = "", ""
			c.past[id] = k
		}
	}
	c.mu.Unlock()
	slices.Sort(stopped)
	return stopped, nil
}

var errStopped = errors.New("it was stopped")

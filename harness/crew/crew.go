// Package crew runs the agents that other agents start.
//
//	c := crew.New(&crew.Options{Make: make, Kinds: kinds, Emit: main.Emit, …})
//	defer c.Close()
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
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/subagent"
)

// Options are what a crew is made of. Make and Emit must be set.
type Options struct {
	// Make makes the agent of a job.
	Make func(context.Context, Spec) (*Made, error)
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
	// Keep is how many that have finished can still be spoken to; 0 means 64.
	Keep int
}

// A Spec is an agent to make.
type Spec struct {
	subagent.Job
	ID    string
	Depth int // 1 for one that the main conversation starts
}

// Made is an agent that was made.
type Made struct {
	Agent *agent.Agent
	// Kind and Model are what the job's came to be.
	Kind, Model string
	// Output is the file of its transcript; "" means none.
	Output string
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
	members map[string]*member
	teams   map[string]string // name to description
	running int
	order   []string // ids, the one that was used last at the end
}

// New returns a crew of nobody.
func New(opts *Options) *Crew {
	c := &Crew{opts: *opts, members: make(map[string]*member), teams: make(map[string]string)}
	c.opts.MaxRunning = cmp.Or(c.opts.MaxRunning, 64)
	c.opts.MaxDepth = cmp.Or(c.opts.MaxDepth, 2)
	c.opts.FirstToken = cmp.Or(c.opts.FirstToken, 3*time.Minute)
	c.opts.Idle = cmp.Or(c.opts.Idle, 5*time.Minute)
	c.opts.Keep = cmp.Or(c.opts.Keep, 64)
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
}

// Close stops everybody and waits for them.
func (c *Crew) Close() {
	c.stop()
	c.wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.members {
		m.close()
	}
	clear(c.members)
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
	m, err := c.hire(ctx, j, false)
	if err != nil {
		return subagent.Report{Kind: j.Kind, Status: subagent.Failed, Why: err.Error()}
	}
	unlink := context.AfterFunc(c.ctx, func() { m.halt(errStopped) })
	defer unlink()
	return m.work(ctx, progress)
}

// Start gives a job to a new agent that works on beside its caller.
func (c *Crew) Start(ctx context.Context, j subagent.Job) (subagent.Started, error) {
	m, err := c.hire(ctx, j, true)
	if err != nil {
		return subagent.Started{}, tool.Errorf("%w", err)
	}
	c.beside(m)
	return subagent.Started{ID: m.id, Kind: m.made.Kind, Output: m.made.Output}, nil
}

// beside lets a member work on its own, and tells when it is done.
func (c *Crew) beside(m *member) {
	c.wg.Go(func() {
		report := m.work(c.ctx, nil)
		if c.ctx.Err() == nil {
			c.opts.Notify(m.task(&report))
		}
	})
}

// hire makes an agent and counts it as running.
func (c *Crew) hire(ctx context.Context, j subagent.Job, background bool) (*member, error) {
	depth, err := c.admit(j)
	if err != nil {
		return nil, err
	}
	id := "a" + strings.ToLower(rand.Text()[:12])
	made, err := c.opts.Make(ctx, Spec{Job: j, ID: id, Depth: depth})
	if err != nil {
		c.dismiss()
		return nil, err
	}
	m := &member{crew: c, id: id, job: j, depth: depth, made: made, background: background, began: time.Now(), busy: true}
	made.Agent.Send(agent.Prompt{Content: []model.Block{model.TextOf(j.Prompt)}})
	c.mu.Lock()
	c.members[id] = m
	c.touch(id)
	c.mu.Unlock()
	c.opts.Emit(agent.TaskChanged{Change: "started", Task: m.task(nil)})
	c.save()
	return m, nil
}

// admit checks that there is room for one more, and takes the place.
func (c *Crew) admit(j subagent.Job) (depth int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	depth = 1
	if caller, ok := c.members[j.Caller]; ok {
		depth = caller.depth + 1
	}
	switch {
	case c.ctx.Err() != nil:
		return 0, errStopped
	case depth > c.opts.MaxDepth:
		return 0, fmt.Errorf("agents may not start each other deeper than %d; do this part yourself", c.opts.MaxDepth)
	case c.running >= c.opts.MaxRunning:
		return 0, fmt.Errorf("%d agents work already, and no more may; wait for one to finish", c.running)
	case j.Team != "" && c.teamless(j.Team):
		return 0, fmt.Errorf("there is no team %q; begin it with TeamCreate", j.Team)
	case j.Name != "" && c.named(j.Team, j.Name) != nil:
		return 0, fmt.Errorf("the team has a %q already", j.Name)
	}
	c.running++
	return depth, nil
}

func (c *Crew) dismiss() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
}

func (c *Crew) teamless(name string) bool {
	_, ok := c.teams[name]
	return !ok
}

// touch notes that an agent was used, and lets go of the one that was not for the
// longest time if too many are kept.
func (c *Crew) touch(id string) {
	c.order = append(slices.DeleteFunc(c.order, func(o string) bool { return o == id }), id)
	idle := len(c.members) - c.running
	for _, old := range slices.Clone(c.order) {
		if idle <= c.opts.Keep {
			return
		}
		if m := c.members[old]; m != nil && !m.busy {
			m.close()
			delete(c.members, old)
			c.order = slices.DeleteFunc(c.order, func(o string) bool { return o == old })
			idle--
		}
	}
}

// Stop stops one agent, and nobody else. It reports whether it was there.
func (c *Crew) Stop(id string) bool {
	c.mu.Lock()
	m := c.members[id]
	c.mu.Unlock()
	if m == nil {
		return false
	}
	m.halt(errStopped)
	return true
}

var errStopped = errors.New("it was stopped")

// Known is what is kept of an agent.
type Known struct {
	ID          string          `json:"id"`
	Kind        string          `json:"type"`
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description"`
	UseID       string          `json:"useId"`
	Running     bool            `json:"running"`
	Status      subagent.Status `json:"status,omitempty"`
}

// save keeps what is known, so that a session that is resumed can say who is gone.
func (c *Crew) save() {
	if c.opts.Save == nil {
		return
	}
	c.mu.Lock()
	var known []Known
	for _, id := range slices.Sorted(maps.Keys(c.members)) {
		m := c.members[id]
		known = append(known, Known{ID: id, Kind: m.made.Kind, Name: m.job.Name, Description: m.job.Description, UseID: m.job.UseID, Running: m.busy, Status: m.status})
	}
	c.mu.Unlock()
	c.opts.Save(known)
}

// Lost says which agents were at work when a session broke off.
func Lost(known []Known) string {
	var b strings.Builder
	for _, k := range known {
		if k.Running {
			fmt.Fprintf(&b, "- %s (%s): %s\n", k.ID, k.Kind, k.Description)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "These agents were at work when the session was interrupted. They are gone, and what they have done so far is unknown; look before you start the work again:\n" + b.String()
}

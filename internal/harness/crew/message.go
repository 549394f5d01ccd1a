package crew

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/tools/subagent"
	"github.com/haftdev/haft/tool"
)

// main is the name of the main conversation.
const main = "main"

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

// newResting is the state of an agent whose work of an earlier process ended so.
func newResting(status subagent.Status) *state {
	return &state{background: true, worked: true, status: status, detached: make(chan struct{})}
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

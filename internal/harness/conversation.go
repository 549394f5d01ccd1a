package harness

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness/crew"
	"github.com/haftdev/haft/internal/harness/slash"
	"github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// Journal is the session on the disk; clearing the conversation begins another.
func (c *Conversation) Journal() *session.Session { return c.World.link.Journal() }

// busy keeps other processes from continuing the session while a turn runs, and lets them do so
// between turns, unless something works on.
func (c *Conversation) busy(ctx context.Context, busy bool) error {
	switch {
	case busy:
		return c.Journal().TakeUp(ctx)
	case c.Running() != "":
		return nil
	}
	return c.Journal().PutDown()
}

// Input reads what the user types: slash commands and mentions of files.
func (c *Conversation) Input() *slash.Input { return c.input }

// Call makes a call outside the conversation's turns, for a text or the user.
func (c *Conversation) Call(ctx context.Context, r prompt.Request) (tool.Result, error) {
	return c.pool.builtins.Calls(ctx, r)
}

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

// Agents are the session's agents that can be sent messages: working, finished, or lost
// with an earlier process.
func (c *Conversation) Agents() []crew.Known { return c.World.Crew.List() }

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

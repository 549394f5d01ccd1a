package bash

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/haftdev/haft/shellrun"
	"github.com/haftdev/haft/tool"
)

// Previews run commands where their effects reach nothing.
type Previews interface {
	// Run runs the command. Nil, without an error, means that commands are not
	// previewed here.
	Run(ctx context.Context, shell *shellrun.Shell, r shellrun.Request) (Previewed, error)
}

// A Previewed is a command that ran, and whose change waits.
type Previewed interface {
	Task() *shellrun.Task
	// Wanted are what it needed and could not have, such as a host; "" for nothing.
	Wanted() string
	Preview(context.Context) (*tool.Preview, error)
	// Apply makes the change, all of it or nothing, and records it for the call.
	Apply(ctx context.Context, call string) error
	Drop() error
}

// pending is a command of a call that is asked about.
type pending struct {
	call, command string
	ran           Previewed
	err           error // why there is no preview
}

// preview shows what the call would change: an edit by sed without running
// anything, any other command by running it where its effects reach nothing.
func (t *Tools) preview(ctx context.Context, c *tool.Call, in Input) (*tool.Preview, error) {
	if p, err := t.previewSed(ctx, c, in); p != nil || err != nil {
		return p, err
	}
	if t.opts.Previews == nil || in.RunInBackground {
		return nil, nil
	}
	p := t.find(c, in)
	if p == nil {
		p = t.runAside(ctx, c, in)
	}
	if p.err != nil || p.ran == nil {
		return nil, p.err
	}
	return p.ran.Preview(ctx)
}

// find returns what ran for the call already.
func (t *Tools) find(c *tool.Call, in Input) *pending {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.pending[c.Agent]; p != nil && p.call == c.ID && p.command == in.Command {
		return p
	}
	return nil
}

// Previewed reports whether a call has a change that waits to be applied.
func (t *Tools) Previewed(call string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.pending {
		if p.call == call && p.ran != nil {
			return true
		}
	}
	return false
}

// runAside runs the command where its effects reach nothing. What the agent's last
// such command left, because it was denied, is dropped.
func (t *Tools) runAside(ctx context.Context, c *tool.Call, in Input) *pending {
	p := &pending{call: c.ID, command: in.Command}
	p.ran, p.err = t.opts.Previews.Run(ctx, t.shell(c.Agent), shellrun.Request{
		Command: in.Command, Description: in.Description, Tag: c.UseID, Owner: c.Agent, Timeout: t.limit(in),
	})
	if p.ran != nil && p.err == nil {
		if wanted := p.ran.Wanted(); wanted != "" {
			p.err = errors.New(wanted)
		}
	}
	if p.err != nil && p.ran != nil { // it is asked about as a command that has not run
		p.err = errors.Join(p.err, p.ran.Drop())
		p.ran = nil
	}
	t.mu.Lock()
	old := t.pending[c.Agent]
	t.pending[c.Agent] = p
	t.mu.Unlock()
	if old != nil && old.ran != nil {
		_ = old.ran.Drop() // what stays is swept later
	}
	return p
}

// limit is how long a command may run.
func (t *Tools) limit(in Input) time.Duration {
	if in.Timeout > 0 {
		return time.Duration(in.Timeout) * time.Millisecond
	}
	return t.opts.Timeout
}

// take returns what ran for the call already, once.
func (t *Tools) take(c *tool.Call, in Input) *pending {
	p := t.find(c, in)
	if p != nil {
		t.mu.Lock()
		delete(t.pending, c.Agent)
		t.mu.Unlock()
	}
	return p
}

// applyPreview makes the change of a command that ran already.
func (t *Tools) applyPreview(ctx context.Context, c *tool.Call, in Input, p *pending) (Output, error) {
	defer p.ran.Drop()
	shown, err := p.ran.Preview(ctx)
	if err == nil {
		err = c.Approve(shown)
	}
	if err == nil && len(shown.Files) > 0 {
		err = p.ran.Apply(ctx, c.ID)
	}
	if errors.Is(err, tool.ErrUnapproved) {
		return Output{}, err
	}
	if err != nil {
		return Output{}, tool.Errorf("The command ran, and what it changed was not applied: %w.", err)
	}
	task := p.ran.Task()
	out, _ := t.output(task)
	t.warn(&out)
	out.ended(in.Command, task.Result(), t.limit(in))
	for _, n := range shown.Notes {
		if strings.Contains(n, "dropped") {
			out.note("%s", n)
		}
	}
	return out, nil
}

// dropPreview forgets what an agent that is over left.
func (t *Tools) dropPreview(agent string) error {
	t.mu.Lock()
	p := t.pending[agent]
	delete(t.pending, agent)
	t.mu.Unlock()
	if p == nil || p.ran == nil {
		return nil
	}
	if err := p.ran.Drop(); err != nil {
		return fmt.Errorf("drop a preview: %w", err)
	}
	return nil
}

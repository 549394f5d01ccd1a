package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/internal/headless"
	"github.com/haftdev/haft/internal/headless/launch"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/wire"
)

// A leader leads one run.
type leader struct {
	worker *worker
	run    *runs.Run
	logs   *journal.Held
	damage atomic.Pointer[journal.DamagedError]
	// cancelled is set when a user cancels the run while it is led.
	cancelled atomic.Bool

	fresh    bool   // the session has no journal yet
	resumed  bool   // the journal has the first prompt already
	finished bool   // and its answer
	said     string // which is this
}

// continueText asks the model to continue a turn whose worker was lost.
const continueText = "[The worker that ran this turn was lost. Continue where it stopped. A call whose outcome is unknown may have happened: check before you repeat it.]"

// turns takes a turn for each prompt.
func (l *leader) turns(ctx context.Context, pending []runs.Prompt) (left bool, err error) {
	w := l.worker
	if l.finished {
		if err := w.runs.Settle(w.hard, l.run.ID, pending[0].UUID, &runs.Outcome{Text: l.said, Reason: string(agent.Completed), Worker: w.Name}); err != nil {
			return false, err
		}
		pending, l.resumed = pending[1:], false
	}
	var last *runs.Outcome
	if len(pending) > 0 {
		c, err := l.open()
		if err != nil {
			// Flags that nobody understands are not worth another worker.
			return false, l.reject(pending, err)
		}
		last, left, err = l.converse(ctx, c, pending)
		c.close()
		if err != nil || left {
			return left, err
		}
	}
	_, err = w.runs.Update(w.hard, l.run.ID, func(r *runs.Run) error {
		if !r.Open() || r.Owner != w.Name {
			return runs.ErrUnchanged // it was taken over, and what is true of it others know
		}
		r.State, r.Owner, r.Attempts, r.Taken = runs.Idle, "", 0, 0
		if last != nil && last.IsError {
			r.State, r.Reason = runs.Failed, last.Text
		}
		return nil
	})
	return false, err
}

// reject ends a run that cannot be led at all.
func (l *leader) reject(pending []runs.Prompt, why error) error {
	w := l.worker
	for _, p := range pending {
		if err := w.runs.Settle(w.hard, l.run.ID, p.UUID, &runs.Outcome{IsError: true, Reason: "rejected", Text: why.Error(), Worker: w.Name}); err != nil {
			return err
		}
	}
	_, err := w.runs.Update(w.hard, l.run.ID, func(r *runs.Run) error {
		if r.Owner != w.Name {
			return runs.ErrUnchanged
		}
		r.State, r.Owner, r.Reason = runs.Failed, "", why.Error()
		return nil
	})
	return err
}

// converse sends one prompt after the other, those that come meanwhile included.
func (l *leader) converse(ctx context.Context, c *conversation, pending []runs.Prompt) (last *runs.Outcome, left bool, err error) {
	w := l.worker
	for len(pending) > 0 {
		if ctx.Err() != nil {
			return last, true, nil
		}
		p := pending[0]
		text, uuid := p.Text, p.UUID
		if l.resumed {
			text, uuid, l.resumed = continueText, session.NewUUID(), false
		}
		res, err := c.turn(uuid, text)
		switch {
		case err != nil:
			return last, w.hard.Err() != nil, err
		case res.TerminalReason == string(agent.TakenOver):
			return last, false, session.ErrFenced
		case l.cancelled.Load():
			return last, false, nil
		case w.hard.Err() != nil:
			return last, true, nil // its result only says that it was cut
		case res.TerminalReason == string(agent.JournalFailure):
			return last, false, fmt.Errorf("write the journal: %s", strings.Join(res.Errors, "; "))
		}
		last = outcome(res, w.Name)
		if err := w.runs.Settle(w.hard, l.run.ID, p.UUID, last); err != nil {
			return last, false, err
		}
		if pending = pending[1:]; len(pending) == 0 {
			if pending, err = w.runs.Pending(w.hard, l.run.ID); err != nil {
				return last, false, err
			}
		}
	}
	return last, false, nil
}

func outcome(r *wire.Result, worker string) *runs.Outcome {
	out := &runs.Outcome{IsError: r.IsError, Reason: r.TerminalReason, Text: r.Result, CostUSD: r.TotalCostUSD, Worker: worker}
	if out.Text == "" {
		out.Text = strings.Join(r.Errors, "; ")
	}
	return out
}

// A conversation is the harness at work, and the program that drives it.
type conversation struct {
	stream  *wire.PipeEnd
	conn    *wire.Conn
	results chan *wire.Result
	done    chan struct{}
	stop    context.CancelFunc
}

// open assembles the harness for the run.
func (l *leader) open() (*conversation, error) {
	w := l.worker
	args := []string{"--input-format=stream-json", "--output-format=stream-json"}
	if l.run.Ask {
		args = append(args, "--permission-prompt-tool=stdio")
	}
	opts, err := launch.Parse(append(args, l.run.Args...), w.Version, io.Discard)
	if err != nil {
		return nil, err
	}
	opts.Harness.Dir, opts.Harness.Reexec, opts.Talk.Client, opts.Talk.Version = l.run.Dir, w.Reexec, w.Model, w.Version
	opts.Talk.Sessions = session.OpenLogs(l.logs, w.Dir)
	opts.Talk.ID, opts.Talk.Resume = l.run.ID, ""
	if !l.fresh {
		opts.Talk.ID, opts.Talk.Resume = "", l.run.ID
	}
	ctx, cancel := context.WithCancel(w.hard)
	control, err := w.Conn.NATS.Subscribe(w.runs.Control(l.run.ID), func(*nats.Msg) {
		l.cancelled.Store(true)
		cancel()
	})
	if err != nil {
		cancel()
		return nil, err
	}
	ours, theirs := wire.Pipe()
	c := &conversation{stream: theirs, results: make(chan *wire.Result, 16), done: make(chan struct{}), stop: cancel}
	go func() {
		defer close(c.done)
		defer ours.CloseWrite()
		defer control.Unsubscribe()
		headless.Serve(ctx, ours, opts)
	}()
	c.conn = wire.NewConn(theirs, &wire.ConnOptions{Handle: l.answer})
	go c.read(ctx)
	return c, nil
}

// answer puts the questions of the harness to users.
func (l *leader) answer(ctx context.Context, q wire.Request) (any, error) {
	call, ok := q.(*wire.CanUseTool)
	if !ok {
		return nil, wire.Unsupported(q)
	}
	if err := l.state(ctx, runs.Asking); err != nil {
		return nil, err
	}
	a, err := l.worker.runs.Ask(ctx, &runs.Question{Run: l.run.ID, Tool: call.ToolName, Title: call.Title, Input: call.Input}, call.ToolUseID)
	if err == nil {
		err = l.state(ctx, runs.Running)
	}
	switch {
	case err != nil:
		return nil, err
	case a.Allow:
		return &wire.PermissionAnswer{Behavior: wire.BehaviorAllow}, nil
	}
	return &wire.PermissionAnswer{Behavior: wire.BehaviorDeny, Message: a.Message}, nil
}

// state notes how the run is, as long as this worker leads it.
func (l *leader) state(ctx context.Context, s runs.State) error {
	_, err := l.worker.runs.Update(ctx, l.run.ID, func(r *runs.Run) error {
		if !r.Open() || r.Owner != l.worker.Name {
			return errors.New("another worker leads the run")
		}
		r.State = s
		return nil
	})
	return err
}

// read takes what the harness says.
func (c *conversation) read(ctx context.Context) {
	defer close(c.results)
	_ = c.conn.Run(ctx, func(m wire.Message) { // it ends with the harness
		if r, ok := m.(*wire.Result); ok {
			c.results <- r
		}
	})
}

// turn sends a prompt and waits for its result.
func (c *conversation) turn(uuid, text string) (*wire.Result, error) {
	raw, err := json.Marshal(map[string]any{"type": "user", "uuid": uuid, "session_id": "", "parent_tool_use_id": nil,
		"message": map[string]any{"role": "user", "content": text}})
	if err != nil {
		return nil, err
	}
	m, err := wire.Decode(raw)
	if err != nil {
		return nil, err
	}
	if err := c.conn.Send(m); err != nil {
		return nil, fmt.Errorf("the harness has ended: %w", err)
	}
	r, ok := <-c.results
	if !ok {
		return nil, errors.New("the harness has ended without a result")
	}
	return r, nil
}

// close ends the harness and what it has started.
func (c *conversation) close() {
	c.stream.CloseWrite()
	<-c.done
	c.stop()
}

package worker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/fleet/internal/tunnel"
	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/internal/front/headless/launch"
	"github.com/haftdev/haft/internal/front/live"
	"github.com/haftdev/haft/internal/world/mcp/toolhost"
	"github.com/haftdev/haft/internal/world/workspace/blob"
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

	queue queue
	files *files // from a repository; nil for a folder of this machine
	left  bool   // it has more to do

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
		if err := w.runs.Settle(w.hard, l.run.ID, pending[0].UUID, &runs.Outcome{Text: shorten(l.said), Reason: string(agent.Completed), Worker: w.Name}); err != nil {
			return false, err
		}
		pending, l.resumed = pending[1:], false
	}
	var last *runs.Outcome
	mode := l.run.Mode
	for len(pending) > 0 {
		if pending[0].Connect != "" {
			if pending, err = l.connect(pending); err != nil || w.hard.Err() != nil {
				return w.hard.Err() != nil, err
			}
			continue
		}
		opts, err := l.options()
		if err != nil {
			// Flags that nobody understands are not worth another worker.
			return false, l.reject(pending, err)
		}
		c, err := l.open(opts)
		if err != nil {
			return w.hard.Err() != nil, err
		}
		last, pending, left, err = l.converse(ctx, c, pending)
		c.close()
		l.closed()
		if err != nil || left {
			return left, err
		}
		if now := c.mode.Load(); now != nil {
			mode = *now
		}
		if l.cancelled.Load() {
			break
		}
	}
	_, err = w.runs.Update(w.hard, l.run.ID, func(r *runs.Run) error {
		// A worker that took it over in vain has left no name.
		vacant := r.Owner == "" && (r.State == runs.Running || r.State == runs.Asking)
		if !r.Open() || r.Owner != w.Name && !vacant {
			return runs.ErrUnchanged // it was taken over, and what is true of it others know
		}
		r.State, r.Owner, r.Attempts, r.Taken, r.Mode, r.Unwanted = runs.Idle, "", 0, 0, mode, nil
		if r.Host != "" {
			r.Class = runs.OnHost(r.Host) // nobody else can continue it
		}
		if last != nil && last.IsError {
			r.State, r.Reason = runs.Failed, last.Text
		}
		return nil
	})
	return false, err
}

// reject ends a run that cannot be led at all, unless another worker leads it.
func (l *leader) reject(pending []runs.Prompt, why error) error {
	w := l.worker
	if err := l.logs.Check(w.hard); err != nil {
		return err
	}
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

// converse sends one prompt after the other, those that come meanwhile included, until a
// program wants to lead. It returns what is left to do.
func (l *leader) converse(ctx context.Context, c *conversation, pending []runs.Prompt) (last *runs.Outcome, rest []runs.Prompt, left bool, err error) {
	w := l.worker
	defer l.queue.leave()
	for len(pending) > 0 && pending[0].Connect == "" {
		if ctx.Err() != nil {
			return last, pending, true, nil
		}
		p := pending[0]
		if !l.queue.enter(p.UUID, c.interrupt) {
			// Who cancelled it may not have settled it yet, and it would be found again at once.
			if err := w.runs.Settle(w.hard, l.run.ID, p.UUID, runs.DroppedOutcome()); err != nil {
				return last, pending, false, err
			}
			if pending, err = l.more(pending); err != nil {
				return last, nil, false, err
			}
			continue
		}
		content, err := l.content(&p)
		if err != nil {
			return last, pending, false, err
		}
		res, err := c.turn(p.UUID, content)
		switch {
		case err != nil:
			return last, pending, w.hard.Err() != nil, err
		case res.TerminalReason == string(agent.TakenOver):
			return last, pending, false, session.ErrFenced
		case l.cancelled.Load():
			return last, pending, false, nil
		case w.hard.Err() != nil:
			return last, pending, true, nil // its result only says that it was cut
		case res.TerminalReason == string(agent.JournalFailure):
			return last, pending, false, fmt.Errorf("write to the journal: %s", strings.Join(res.Errors, "; "))
		}
		if res.IsError {
			// It may have failed because another worker leads the run, whose answer counts.
			if err := l.logs.Check(w.hard); err != nil {
				return last, pending, w.hard.Err() != nil, err
			}
		}
		last = outcome(res, w.Name)
		w.Metrics.turns.WithLabelValues(last.Reason).Inc()
		if len(pending) == 1 {
			if err := l.keepFiles(true); err != nil {
				return last, pending, false, err
			}
		}
		if err := w.runs.Settle(w.hard, l.run.ID, pending[0].UUID, last); err != nil {
			return last, pending, false, err
		}
		if pending, err = l.more(pending); err != nil {
			return last, nil, false, err
		}
	}
	return last, pending, false, nil
}

// more returns what is left to do when the first prompt is done.
func (l *leader) more(pending []runs.Prompt) ([]runs.Prompt, error) {
	if pending = pending[1:]; len(pending) > 0 {
		return pending, nil
	}
	return l.worker.runs.Pending(l.worker.hard, l.run.ID)
}

// content is what the model is told. A turn whose worker was lost is continued under another
// name: its prompt is in the journal.
func (l *leader) content(p *runs.Prompt) (any, error) {
	if l.resumed {
		p.UUID, l.resumed = session.NewUUID(), false
		return continueText + l.restoredText(), nil
	}
	if p.Blob != "" {
		raw, err := l.logs.Blobs().Get(l.worker.hard, p.Blob)
		return json.RawMessage(raw), err
	}
	if p.Content != nil {
		return p.Content, nil
	}
	return p.Text, nil
}

// maxResult is how large a result is kept with the outcome, maxText how large its text: both go
// into one message.
const (
	maxResult = 512 << 10
	maxText   = 256 << 10
)

// shorten cuts a text that is too large, as it is written in JSON. The session has all of it.
func shorten(text string) string {
	for cut := text; ; cut = strings.ToValidUTF8(cut[:len(cut)/2], "") {
		switch raw, err := json.Marshal(cut); {
		case err != nil || len(raw) > maxText:
		case cut == text:
			return text
		default:
			return cut + "\n[The rest is in the session.]"
		}
	}
}

func outcome(r *wire.Result, worker string) *runs.Outcome {
	out := &runs.Outcome{IsError: r.IsError, Reason: r.TerminalReason, Text: shorten(cmp.Or(r.Result, strings.Join(r.Errors, "; "))), CostUSD: r.TotalCostUSD, Worker: worker}
	if raw, err := wire.Encode(r); err == nil && len(raw) <= maxResult {
		out.Result = bytes.TrimSpace(raw)
	}
	return out
}

// A conversation is the harness at work, and the program that drives it.
type conversation struct {
	stream  *wire.PipeEnd
	conn    *wire.Conn
	results chan *wire.Result
	mode    atomic.Pointer[string] // that it has changed to
	done    chan struct{}
	stop    context.CancelFunc
}

// options are those of the run's harness.
func (l *leader) options() (*headless.Options, error) {
	w := l.worker
	args := []string{"--input-format=stream-json", "--output-format=stream-json"}
	if l.run.Ask {
		args = append(args, "--permission-prompt-tool=stdio")
	}
	given, err := launch.Submitted(l.run.Args, false)
	if err != nil {
		return nil, err
	}
	opts, err := launch.Parse(append(args, given...), w.Version, io.Discard)
	if err != nil {
		return nil, err
	}
	l.equip(opts)
	opts.Unattended = w.ToolHost != nil && !l.run.Ask // what the tool host would ask is denied there
	opts.Harness.Mode, opts.Talk.Model = cmp.Or(l.run.Mode, opts.Harness.Mode), cmp.Or(l.run.Model, opts.Talk.Model)
	if l.fresh {
		opts.Talk.Title = cmp.Or(l.run.Title, opts.Talk.Title)
	}
	return opts, nil
}

// open starts the harness.
func (l *leader) open(opts *headless.Options) (*conversation, error) {
	w := l.worker
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

// equip makes options those of the run's session, which others can watch.
func (l *leader) equip(o *headless.Options) {
	w := l.worker
	if l.files != nil {
		o.Talk.Steps = l.files.steps
	}
	o.Harness.Dir, o.Harness.Reexec, o.Talk.Client, o.Talk.Version = l.dir(), w.Reexec, w.Model, w.Version
	o.Harness.ToolHost, o.Harness.Disallowed = w.ToolHost, slices.Concat(w.denied, o.Harness.Disallowed)
	o.Talk.Sessions = session.OpenLogs(l.logs, w.Dir)
	if o.Talk.ID = l.run.ID; !o.Talk.Fork {
		o.Talk.Resume = ""
		if _, end := l.logs.Main(); end != (session.Pos{}) {
			o.Talk.ID, o.Talk.Resume = "", l.run.ID
		}
	}
	o.Talk.Continue, o.OneSession = false, true
	o.Talk.Watch = live.OpenWith(&live.Options{
		Version: w.Version,
		Listen:  func(id string) (net.Listener, error) { return tunnel.Listen(w.Conn.NATS, w.runs.Live(id)) },
		Put:     l.put,
	})
}

// answer leaves the questions of the harness to users, who are asked by put.
func (l *leader) answer(ctx context.Context, q wire.Request) (any, error) {
	switch q.(type) {
	case *wire.CanUseTool, *wire.Elicitation:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, wire.Unsupported(q)
}

// put puts a question to users.
func (l *leader) put(ctx context.Context, _ string, r wire.Request) (json.RawMessage, string, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return nil, "", err
	}
	q, name := &runs.Question{Run: l.run.ID, Request: raw}, ""
	switch r := r.(type) {
	case *wire.CanUseTool:
		q.Tool, q.Title, q.Input, name = r.ToolName, r.Title, r.Input, r.ToolUseID
	case *wire.Elicitation:
		q.Kind, q.Tool, q.Title, q.Input, name = runs.Elicits, "mcp__"+r.MCPServerName, r.Message, r.RequestedSchema, r.ElicitationID
	}
	if len(raw) > runs.MaxInline {
		q.Title, q.Input, q.Request, q.Blob = firstRunes(q.Title), nil, nil, blob.Digest(raw)
		if err := l.logs.Blobs().Put(ctx, q.Blob, raw); err != nil {
			return nil, "", err
		}
	}
	if err := l.state(ctx, runs.Asking); err != nil {
		return nil, "", err
	}
	a, err := l.worker.runs.Ask(ctx, q, name)
	if err == nil {
		err = l.state(ctx, runs.Running)
	}
	if err != nil {
		return nil, "", err
	}
	if l.worker.ToolHost != nil && q.Tool == "mcp__"+toolhost.Name && a.Allow && a.Reply == nil && a.Blob == "" {
		return json.RawMessage(`{"action":"accept","content":{"decision":"allow"}}`), a.By, nil // the form there has this one field
	}
	raw, err = a.JSON(ctx, l.logs.Blobs(), q.Kind)
	return raw, a.By, err
}

// firstRunes is the beginning of a title, for lists.
func firstRunes(title string) string {
	if runes := []rune(title); len(runes) > 200 {
		return string(runes[:199]) + "…"
	}
	return title
}

// state notes how the run is, as long as this worker leads it.
func (l *leader) state(ctx context.Context, s runs.State) error {
	_, err := l.worker.runs.Update(ctx, l.run.ID, func(r *runs.Run) error {
		if !r.Open() || r.Owner != l.worker.Name {
			return errors.New("another worker has taken the run")
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
		switch m := m.(type) {
		case *wire.Result:
			c.results <- m
		case *wire.Status:
			if m.PermissionMode != "" {
				c.mode.Store(&m.PermissionMode)
			}
		}
	})
}

// turn sends a prompt and waits for its result.
func (c *conversation) turn(uuid string, content any) (*wire.Result, error) {
	raw, err := json.Marshal(map[string]any{"type": "user", "uuid": uuid, "session_id": "", "parent_tool_use_id": nil,
		"message": map[string]any{"role": "user", "content": content}})
	if err != nil {
		return nil, err
	}
	m, err := wire.Decode(raw)
	if err != nil {
		return nil, err
	}
	if err := c.conn.Send(m); err != nil {
		return nil, fmt.Errorf("the conversation ended early: %w", err)
	}
	r, ok := <-c.results
	if !ok {
		return nil, errors.New("the conversation ended without a result")
	}
	return r, nil
}

// interrupt stops the turn that runs.
func (c *conversation) interrupt(ctx context.Context) error {
	return c.conn.Call(ctx, &wire.Interrupt{}, nil)
}

// close ends the harness and what it has started.
func (c *conversation) close() {
	c.stream.CloseWrite()
	<-c.done
	c.stop()
}

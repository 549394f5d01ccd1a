package worker

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/fleet/internal/tunnel"
	"github.com/haftdev/haft/fleet/internal/workspace"
	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/internal/front/headless/launch"
	"github.com/haftdev/haft/internal/front/live"
	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/text/shorten"
	"github.com/haftdev/haft/internal/world/mcp/toolhost"
	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/model"
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
		if err := w.runs.Settle(w.hard, l.run.ID, pending[0].UUID, &runs.Outcome{Text: bounded(l.said), Reason: string(agent.Completed), Worker: w.Name}); err != nil {
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

// bounded cuts a text that is too large, as it is written in JSON. The session has all of it.
func bounded(text string) string {
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
	out := &runs.Outcome{IsError: r.IsError, Reason: r.TerminalReason, Text: bounded(cmp.Or(r.Result, strings.Join(r.Errors, "; "))), CostUSD: r.TotalCostUSD, Worker: worker}
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
		q.Title, q.Input, q.Request, q.Blob = shorten.To(q.Title, 200), nil, nil, blob.Digest(raw)
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

// connect lets the program that waits lead the conversation until it ends. It returns what is
// left to do. A program that has gone, or lost another worker, is not waited for.
func (l *leader) connect(pending []runs.Prompt) ([]runs.Prompt, error) {
	w, p := l.worker, pending[0]
	ctx, cancel := context.WithCancel(w.hard)
	defer cancel()
	control, err := w.Conn.NATS.Subscribe(w.runs.Control(l.run.ID), func(*nats.Msg) { cancel() })
	if err != nil {
		return nil, err
	}
	defer control.Unsubscribe()
	dial, stop := context.WithTimeout(ctx, connectTime)
	defer stop()
	out := &runs.Outcome{Reason: "connected", Text: "A program ran the conversation.", Worker: w.Name}
	conn, err := tunnel.Dial(dial, w.Conn.NATS, p.Connect)
	if err != nil {
		out = &runs.Outcome{IsError: true, Reason: "disconnected", Text: "The program that started the conversation has disconnected.", Worker: w.Name}
	} else {
		stop := endWith(ctx, conn)
		in := bufio.NewReader(conn)
		both := struct {
			io.Reader
			io.Writer
		}{in, conn}
		serve.Lead(ctx, both, func(log io.Writer) (*headless.Options, error) {
			args, err := flagsOf(in, p)
			if err != nil {
				return nil, err
			}
			if info, err := os.Stat(l.dir()); err != nil || !info.IsDir() {
				return nil, fmt.Errorf("%q is not a folder on the machine of the worker %s", l.dir(), w.Name)
			}
			opts, err := launch.Program(args, w.Version, log)
			if err == nil && len(l.run.Args) > 0 {
				opts, err = serve.Narrowed(l.run.Args, opts, w.Version, log)
			}
			if err == nil {
				l.equip(opts)
				opts.States = true
			}
			return opts, err
		})
		stop()
		conn.Close()
		l.closed()
	}
	if w.hard.Err() != nil {
		return pending, nil
	}
	if err := w.runs.Settle(w.hard, l.run.ID, p.UUID, out); err != nil {
		return nil, err
	}
	return l.more(pending)
}

// dir is where the run works.
func (l *leader) dir() string {
	if l.files != nil {
		return l.files.Folder()
	}
	return l.run.Dir
}

// prepare makes the folder of a run whose files come from a repository.
func (l *leader) prepare() error {
	w, spec := l.worker, l.run.Workspace
	if spec == nil {
		return nil
	}
	if w.ToolHost != nil {
		return &workspace.RefusedError{Why: "the run works on a git repository, but this worker runs tools on another machine (--tools-on), where the repository is not available"}
	}
	if w.Workspaces == "" {
		return errors.New("this worker has no folder for workspaces; start it with --workspaces")
	}
	f := &files{}
	if !l.fresh {
		var err error
		if f.last, err = l.lastPoint(); err != nil {
			return err
		}
		f.noted = f.last
	}
	home, _ := os.UserHomeDir() // without one, nothing in it is secret
	var err error
	f.Workspace, err = workspace.Open(w.hard, &workspace.Options{
		Dir: w.folders(), Run: l.run.ID, Spec: spec.Spec, Base: spec.Base, Branch: spec.BaseBranch, Last: f.last, Blobs: l.logs.Files(l.run.ID), Home: home, Aside: w.noteAside,
	})
	if err != nil {
		return err
	}
	l.files = f
	if spec.Base != "" {
		return nil
	}
	p := f.Point()
	_, err = w.runs.Update(w.hard, l.run.ID, func(r *runs.Run) error {
		if r.Owner != w.Name || r.Workspace == nil {
			return errors.New("another worker has taken the run")
		}
		r.Workspace.Base, r.Workspace.BaseBranch = p.Base, p.Branch
		return nil
	})
	return err
}

// lastPoint is the last point in the journal; nil if there is none. Files that are behind what the
// journal says has happened are not continued with.
func (l *leader) lastPoint() (*workspace.Point, error) {
	ctx := l.worker.hard
	call, err := l.logs.Unstored(ctx, session.StateFiles)
	if err != nil {
		return nil, err
	}
	if call != "" {
		return nil, &workspace.DamagedError{Why: fmt.Sprintf("the stored files of the run are older than its journal: call %s has a result, but no files were stored with it", call)}
	}
	s, err := session.OpenLogs(l.logs, l.worker.Dir).Resume(ctx, l.run.ID, nil)
	if err != nil {
		return nil, err
	}
	raw := s.Restored().States[session.StateFiles]
	if raw == nil {
		raw = json.RawMessage("null")
	}
	var p *workspace.Point
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, &workspace.DamagedError{Why: fmt.Sprintf("the journal's record of the run's files cannot be read: %v", err)}
	}
	if len(s.Restored().Lost) == 0 {
		return p, nil
	}
	// That the outcome of a call is unknown is written as its result. It comes before the files,
	// which have none of what the call did.
	return p, errors.Join(s.Append(ctx, session.Entry{State: &session.State{Name: session.StateFiles, Value: raw}}), s.Close())
}

// keepFiles stores what has changed since the last call, such as what commands in the background
// have done, and pushes the result if the run rests. The run says where its files are.
func (l *leader) keepFiles(rests bool) error {
	f, w := l.files, l.worker
	if f == nil {
		return nil
	}
	ctx := context.WithoutCancel(w.hard)
	p, err := l.noteFiles(ctx)
	if err != nil {
		return err
	}
	pushed, pushing, pushError := l.run.Workspace.Pushed, l.run.Workspace.Pushing, ""
	if branch := l.run.Workspace.Push; branch != "" && rests {
		commit, err := l.push(ctx)
		if err != nil {
			pushing, pushError = l.run.Workspace.Pushing, err.Error()
			w.Log.Warn("could not push the result of a run", "run", l.run.ID, "branch", branch, "error", err)
		} else {
			pushed, pushing = commit, nil
		}
	}
	was := l.run.Workspace
	if len(was.Pushing) == len(pushing) && was.Stored != nil && was.Stored.Commit == p.Commit && was.Pushed == pushed && was.PushError == pushError {
		return nil
	}
	run, err := w.runs.Update(ctx, l.run.ID, func(r *runs.Run) error {
		if r.Workspace == nil || r.State == runs.Archived || r.Owner != w.Name && r.Owner != "" {
			return runs.ErrUnchanged // what is archived says where the archive's files are
		}
		r.Workspace.Stored, r.Workspace.Pushed, r.Workspace.Pushing, r.Workspace.PushError = p, pushed, pushing, pushError
		return nil
	})
	if err == nil && run.Workspace != nil {
		l.run.Workspace = run.Workspace
	}
	return err
}

// push pushes the result of the run. What is about to be pushed is noted first: a worker that ends
// right after leaves a branch that the next one knows.
func (l *leader) push(ctx context.Context) (commit string, err error) {
	f, w, was := l.files, l.worker, l.run.Workspace
	if commit, err = f.Result(ctx); err != nil {
		return "", err
	}
	if commit != was.Pushed && !slices.Contains(was.Pushing, commit) {
		run, err := w.runs.Update(ctx, l.run.ID, func(r *runs.Run) error {
			if r.Workspace == nil || r.State == runs.Archived || r.Owner != w.Name && r.Owner != "" {
				return errors.New("another worker has taken the run, or the run is archived")
			}
			r.Workspace.Pushing = append(r.Workspace.Pushing, commit)
			r.Workspace.Pushing = r.Workspace.Pushing[max(0, len(r.Workspace.Pushing)-runs.MaxPushing):]
			return nil
		})
		if err != nil {
			return "", err
		}
		l.run.Workspace = run.Workspace
	}
	return commit, f.Push(ctx, was.Push, commit, append([]string{was.Pushed}, l.run.Workspace.Pushing...))
}

// noteFiles stores the files and writes that into the journal, if there is anything new.
func (l *leader) noteFiles(ctx context.Context) (*workspace.Point, error) {
	f := l.files
	f.mu.Lock()
	defer f.mu.Unlock()
	call := ""
	if f.noted != nil {
		call = f.noted.Call
	}
	p, err := f.Store(ctx, call)
	if err != nil || f.noted != nil && f.noted.Commit == p.Commit || f.noted == nil && p.Commit == p.Base {
		return p, err
	}
	s := f.session
	if s == nil { // the conversation has ended
		s, err = session.OpenLogs(l.logs, l.worker.Dir).Resume(ctx, l.run.ID, nil)
		if errors.Is(err, session.ErrNotFound) {
			return p, nil // nothing was said
		}
		if err != nil {
			return nil, err
		}
		defer s.Close()
	}
	return p, f.note(ctx, s, p)
}

// closed says that the conversation has ended.
func (l *leader) closed() {
	if l.files == nil {
		return
	}
	l.files.mu.Lock()
	defer l.files.mu.Unlock()
	l.files.session = nil
}

// leaveFiles gives the folder back.
func (l *leader) leaveFiles(err error) {
	if l.files == nil {
		return
	}
	if !errors.Is(err, session.ErrFenced) {
		if err := l.keepFiles(!l.left); err != nil && !errors.Is(err, session.ErrFenced) {
			l.worker.Log.Error("could not store the files of a run; its folder is kept", "run", l.run.ID, "folder", l.files.Folder(), "error", err)
		}
	}
	l.files.Close()
}

// restoredText tells the model what has become of the files after its worker was lost.
func (l *leader) restoredText() string {
	f := l.files
	if f == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n[The files are as they were after the last finished call. What an interrupted call did to files is undone, unless it had just finished; its other effects are not undone. ")
	if f.last != nil && f.last.Path != f.Folder() {
		fmt.Fprintf(&b, "They are now in %s; the earlier paths in %s do not exist here. ", f.Folder(), f.last.Path)
	}
	b.WriteString("Files that git ignores, such as build output, may be missing, and nothing is staged.")
	if f.last != nil && len(f.last.Left) > 0 {
		fmt.Fprintf(&b, " These were not stored: %q.", f.last.Left) // their names are not to be taken for our words
	}
	b.WriteString("]")
	return b.String()
}

// unprepared deals with a run whose folder could not be made.
func (l *leader) unprepared(pending []runs.Prompt, err error) error {
	var refused *workspace.RefusedError
	var damaged *workspace.DamagedError
	switch {
	case errors.Is(err, session.ErrFenced):
		return err
	case errors.As(err, &refused):
		return l.reject(pending, err)
	case errors.As(err, &damaged):
		return l.quarantine(err.Error())
	}
	return l.postpone(err, true)
}

// postpone says why a run waits, and lets workers try again after a while. That a repository is away
// for some time is no fault of the run, and does not count as an attempt.
func (l *leader) postpone(why error, away bool) error {
	w := l.worker
	run, err := w.runs.Update(context.WithoutCancel(w.hard), l.run.ID, func(r *runs.Run) error {
		if !r.Open() || r.Owner != w.Name {
			return runs.ErrUnchanged
		}
		r.State, r.Owner, r.Reason = runs.Queued, "", why.Error()
		if away {
			r.Attempts, r.Taken, r.Postponed = max(0, r.Attempts-1), max(0, r.Taken-1), r.Postponed+1
		}
		return nil
	})
	if err != nil {
		return errors.Join(why, err)
	}
	return &laterError{why, min(time.Second<<min(run.Attempts+run.Postponed, 10), maxLater)}
}

// begin notes who leads the run, and puts it aside if that was tried too often in vain.
func (l *leader) begin(pos session.Pos) (*runs.Run, error) {
	w, tip := l.worker, fmt.Sprintf("%d %s", pos.Seq, hex.EncodeToString(pos.Tip[:]))
	return w.runs.Update(w.hard, l.run.ID, func(r *runs.Run) error {
		if !r.Open() {
			return fmt.Errorf("it is %s", r.State)
		}
		r.Attempts++
		r.Taken++
		if r.Tip != tip {
			r.Attempts, r.Postponed, r.Tip = 1, 0, tip
		}
		why := ""
		if r.Reason != "" {
			why = "; the last error: " + r.Reason
		}
		r.State, r.Owner, r.Reason = runs.Running, w.Name, ""
		w.bind(r)
		switch {
		case r.Attempts > w.Attempts:
			r.State, r.Owner = runs.Quarantined, ""
			r.Reason = fmt.Sprintf("every worker that took it stopped before it wrote anything (attempts: %d)%s", w.Attempts, why)
		case r.Taken > takenFactor*w.Attempts:
			r.State, r.Owner = runs.Quarantined, ""
			r.Reason = fmt.Sprintf("no worker that took it finished it (attempts: %d)%s", r.Taken-1, why)
		case r.Postponed > maxPostponed:
			r.State, r.Owner = runs.Quarantined, ""
			r.Reason = "its folder could not be set up for a day" + why
		}
		return nil
	})
}

// quarantine puts the run aside. One that is archived has no journal that could be damaged.
func (l *leader) quarantine(why string) error {
	_, err := l.worker.runs.Update(context.WithoutCancel(l.worker.hard), l.run.ID, func(r *runs.Run) error {
		if r.State == runs.Archived {
			return runs.ErrUnchanged
		}
		r.State, r.Owner, r.Reason = runs.Quarantined, "", why
		return nil
	})
	return err
}

// inspect looks how far a worker came that was lost. It returns the prompts that are still to
// be answered: one goes into the journal after the one before has its outcome, so those
// before the last in the journal are done, even if a server that is behind does not say so.
func (l *leader) inspect(pending []runs.Prompt) ([]runs.Prompt, error) {
	names := make([]string, len(pending))
	for i, p := range pending {
		names[i] = `"` + p.UUID + `"`
	}
	at, err := l.logs.Find(l.worker.hard, pending[0].Kept, names)
	if err != nil || at < 0 {
		return pending, err
	}
	l.resumed = true
	s, err := session.OpenLogs(l.logs, l.worker.Dir).Resume(l.worker.hard, l.run.ID, nil)
	if err != nil {
		return nil, err
	}
	history := s.Restored().History
	last, err := history.Message(history.Len() - 1)
	if err != nil {
		return nil, err
	}
	l.finished = last.Role == model.Assistant
	for _, b := range last.Content {
		l.said = b.Text
		l.finished = l.finished && b.Type != model.ToolUse
	}
	return pending[at:], nil
}

// hearDrops cancels prompts that users name, and says who leads the run to who wants to lead it.
func (l *leader) hearDrops() (stop func(), err error) {
	w := l.worker
	sub, err := w.Conn.NATS.Subscribe(w.runs.Drops(l.run.ID), func(m *nats.Msg) {
		go func() { // one that takes long must not keep others waiting
			reply := runs.Dropped
			if err := l.drop(string(m.Data)); err != nil {
				reply = err.Error()
			}
			_ = m.Respond([]byte(reply)) // who has gone does not hear it
		}()
	})
	if err != nil {
		return nil, err
	}
	leads, err := w.Conn.NATS.Subscribe(w.runs.Leads(l.run.ID), func(m *nats.Msg) { _ = m.Respond([]byte(w.Name)) })
	if err != nil {
		_ = sub.Unsubscribe()
		return nil, err
	}
	return func() { _, _ = sub.Unsubscribe(), leads.Unsubscribe() }, nil
}

// drop cancels a prompt. One that waits gets its outcome here, one that runs gets it when its
// turn has ended.
func (l *leader) drop(prompt string) error {
	w := l.worker
	ends := l.queue.drop(w.hard, prompt)
	if ends == nil {
		return w.runs.Settle(w.hard, l.run.ID, prompt, runs.DroppedOutcome())
	}
	select {
	case <-ends:
	case <-time.After(dropTime): // it was told to stop
	case <-w.hard.Done():
	}
	return nil
}

// wanted gives those prompts an outcome that were cancelled before this worker took the run,
// and returns the others.
func (l *leader) wanted(pending []runs.Prompt) (rest []runs.Prompt, err error) {
	for _, p := range pending {
		if !slices.Contains(l.run.Unwanted, p.UUID) {
			rest = append(rest, p)
			continue
		}
		if err := l.worker.runs.Settle(l.worker.hard, l.run.ID, p.UUID, runs.DroppedOutcome()); err != nil {
			return nil, err
		}
	}
	return rest, nil
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

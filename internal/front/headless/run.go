package headless

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/drive"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/models/catalog"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/wire"
)

// A run is one conversation, from its opening to the exit code. What happens in it is told as
// messages of the wire, to a program or to whoever waits for the one answer.
type run struct {
	opts  Options
	drive *drive.Driver
	tell  *teller
	early early

	mu      sync.Mutex // also held while the conversation is opened
	failure error      // why it cannot be opened
	named   []string   // prompts that the program named before it was opened
	mirror  *mirror    // nil if the program wants none
	code    int

	began time.Time
	asked atomic.Int64 // milliseconds that models took for their answers
}

// newRun returns a run whose messages go to send.
func newRun(o *Options, send func(wire.Message)) *run {
	r := &run{opts: *o, began: time.Now()}
	if r.opts.Log == nil {
		r.opts.Log = io.Discard
	}
	d := &drive.Options{Lang: r.opts.Lang, NoCommands: r.opts.NoCommands, OneAnswer: r.opts.OneAnswer, OneSession: r.opts.OneSession}
	if r.opts.Guest {
		d.Refuse = refuseGuest
	}
	r.drive = drive.New(d)
	r.early.send, r.early.log = send, r.opts.Log
	if r.opts.OneAnswer { // the caller learns from its watcher what a user should know
		r.early.log = io.Discard
	}
	r.tell = newTeller(r.early.put)
	r.tell.facts = func(ev agent.TurnStarted) *wire.Init { return initMessage(r.opened(), &r.opts, ev) }
	r.tell.partial, r.tell.states, r.tell.replay, r.tell.oneAnswer = r.opts.Partial, r.opts.States, r.opts.Replay, r.opts.OneAnswer
	if r.opts.ToolProgress {
		r.tell.reportCalls()
	}
	return r
}

// opened is the conversation; nil if it was not opened. It waits for one that is being opened.
func (r *run) opened() *harness.Conversation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.drive.Conversation()
}

// say takes a prompt of the program.
func (r *run) say(m drive.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.UUID != "" {
		if r.drive.Conversation() != nil {
			r.tell.follow(m.UUID)
		} else {
			r.named = append(r.named, m.UUID)
		}
	}
	r.drive.Say(m)
}

// begin opens the conversation, once. Equip adds what a program provides to the options; init
// is nil if it has not sent any.
func (r *run) begin(ctx context.Context, init *wire.Initialize, equip func(*harness.Options, *harness.TalkOptions)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failure != nil || r.drive.Conversation() != nil {
		return
	}
	talk, err := r.open(ctx, init, equip)
	if err != nil {
		r.failed(err)
		return
	}
	r.tell.inSession(talk.Agent.Session())
	if t := r.opts.Talk; r.opts.Mirror {
		r.mirror = newMirror(talk, (t.Resume != "" || t.Continue) && !t.Fork, r.tell.send)
	}
	if init != nil && init.Agents[r.opts.Harness.Agent].InitialPrompt != "" {
		r.drive.SayFirst(drive.Message{Prompt: agent.Typed(init.Agents[r.opts.Harness.Agent].InitialPrompt)})
	}
	for _, uuid := range r.named {
		r.tell.follow(uuid)
	}
	r.drive.Begin(talk)
}

// open assembles the conversation that flags and the program describe.
func (r *run) open(ctx context.Context, init *wire.Initialize, equip func(*harness.Options, *harness.TalkOptions)) (*harness.Conversation, error) {
	if r.opts.ManagedLater && (init == nil || len(init.ManagedSettings) == 0 || r.opts.Harness.Managed != "") {
		return nil, errors.New("--managed-settings-in-initialize: the first message must be an initialize request with managedSettings, and --managed-settings cannot be used too")
	}
	h, t := r.opts.Harness, r.opts.Talk
	t.Driver, t.MCP.Wait, h.HookRan = r.drive, serversTime, r.hookRan
	r.tell.texts = r.opts.AgentTexts
	equip(&h, &t)
	if r.opts.OneAnswer {
		h.EndAtLimit, t.MCP.Background = true, -1
	}
	first := r.drive.Queued()
	h.Prompted = t.Resume == "" && !t.Continue && len(first) > 0 && !strings.HasPrefix(text(first[0]), "/")
	w, err := harness.Open(&h)
	if err != nil {
		return nil, err
	}
	if err := guestLead(&r.opts, w, init); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	talk, err := w.Talk(ctx, &t)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return talk, nil
}

// failed reports why there is no conversation. The lock is held.
func (r *run) failed(err error) {
	r.failure = err
	fmt.Fprintf(r.opts.Log, "haft: %s\n", visible.Indented(err.Error()))
	r.code = 1
	if usage := (*project.UsageError)(nil); errors.As(err, &usage) && r.opts.Harness.Typed {
		r.code = 2
	}
	r.tell.inSession(session.NewUUID())
	reason := agent.Crashed
	if errors.Is(err, session.ErrFenced) {
		reason = agent.TakenOver
	}
	r.tell.result(agent.Result{Reason: reason, Errors: []string{err.Error()}})
}

// hookRan reports a hook that ran. What a user should know about hooks in the settings is a
// notice of the conversation.
func (r *run) hookRan(ran hook.Run) {
	if r.opts.HookEvents || ran.Event == "SessionStart" {
		started, ended := r.tell.hookEvents(ran)
		r.tell.send(started)
		r.tell.send(ended)
	}
}

// follow runs the conversation and reports what happens, until there is nothing more to do.
func (r *run) follow(ctx context.Context) {
	for ev, err := range r.drive.Run(ctx) {
		if err != nil {
			break // the turn that ran has sent its result
		}
		r.happened(ev)
	}
}

func (r *run) happened(ev agent.Event) {
	switch ev := ev.(type) {
	case drive.CommandDone:
		r.answered(ev)
		r.watched(ev)
		return
	case agent.Result:
		r.mirror.repeat(r.opened())
		defer r.note(ev)
	}
	r.report(ev)
}

// report tells the program and the watcher what happens.
func (r *run) report(ev agent.Event) {
	if _, ok := ev.(agent.Result); ok || !r.opts.ResultOnly {
		r.tell.tell(ev)
	}
	r.watched(ev)
}

func (r *run) watched(ev agent.Event) {
	if r.opts.Watch != nil {
		_ = r.opts.Watch(ev) // who watches cannot disturb
	}
}

// answered reports a command that did not need a model as a turn.
func (r *run) answered(a drive.CommandDone) {
	talk := r.opened()
	said := a.Text
	res := agent.Result{Reason: agent.Completed, Text: a.Text, Command: a.Command, Prompts: []agent.Prompt{a.Prompt}, Total: talk.Agent.Usage()}
	switch {
	case errors.Is(a.Err, drive.ErrStopped):
		res.Reason = agent.AbortedStreaming
	case a.Err != nil:
		said = a.Err.Error()
		res.Reason, res.Text, res.Errors = agent.CommandFailed, said, []string{said}
	}
	r.tell.turnStarted(agent.TurnStarted{Prompts: res.Prompts, Model: talk.Agent.ContextUsage().Model, Mode: string(talk.World.Engine.Policy().Mode()), Tools: talk.Agent.Tools()})
	r.tell.said(agent.Said{MessageID: session.NewUUID(), Model: "<synthetic>", Block: model.TextOf(said)})
	r.tell.result(res)
	r.note(res)
}

// note keeps what a turn means for the exit code.
func (r *run) note(res agent.Result) {
	r.asked.Add(res.APITime.Milliseconds())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.code = 0
	if r.tell.isError(res) {
		r.code = 1
	}
	if r.drive.Ending() && (res.Reason == agent.AbortedTools || res.Reason == agent.AbortedStreaming) {
		r.code = 0 // the user stopped it
	}
}

// close ends everything that the conversation has started, and returns the exit code.
func (r *run) close() int {
	if talk := r.opened(); talk != nil {
		ctx, cancel := context.WithTimeoutCause(context.Background(), closeTime, fmt.Errorf("the session did not end within %s", closeTime))
		defer cancel()
		last, err := r.drive.Close(ctx)
		if err != nil {
			fmt.Fprintf(r.opts.Log, "haft: could not end the session: %s\n", visible.Indented(err.Error()))
		}
		r.mirror.repeat(talk)
		for _, n := range last {
			r.report(n)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.code
}

// opensNothing reports whether there is no conversation and there will be none.
func (r *run) opensNothing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure != nil
}

// newTeller returns a teller of a program that wants nothing special.
func newTeller(send func(wire.Message)) *teller {
	t := &teller{
		send:  send,
		tasks: make(map[string]agent.Task), agents: make(map[string]agent.Task),
		modelFor: func(name string) (int64, int64) {
			m := catalog.Lookup(name)
			return int64(m.Context), int64(m.MaxOutput)
		},
	}
	t.calls = &heartbeats{every: 30 * time.Second, stops: make(map[string]func() bool), beat: t.heartbeat}
	return t
}

// Answer has one prompt answered and returns the exit code, as [Serve] does. Every message is
// written to out, or with ResultOnly the results alone. When ctx ends, or no one reads what is
// written, the running turn is stopped.
func Answer(ctx context.Context, prompt string, opts *Options, out interface{ Write(wire.Message) error }) int {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	send, failed := func(m wire.Message) { _ = out.Write(m) }, func() bool { return false } // the caller keeps the one result
	if !opts.ResultOnly {
		o := newOutlet(out, func(err error) { stop(fmt.Errorf("no one reads the output: %w", err)) })
		defer o.close()
		context.AfterFunc(ctx, func() { o.expire(answerTime) })
		send, failed = func(m wire.Message) { _ = o.Write(m) }, o.failed // the outlet ends the run if it breaks
	}
	r := newRun(opts, send)
	r.say(drive.Message{Prompt: agent.Typed(prompt)})
	if r.opts.OnInterrupt != nil {
		r.opts.OnInterrupt(r.drive.Stop)
	}
	r.begin(ctx, nil, func(h *harness.Options, t *harness.TalkOptions) {
		if r.opts.AskTool != "" {
			t.Person, t.ByProgram = r.toolAsker(), true
		}
	})
	r.drive.Finish()
	if !r.opensNothing() {
		r.follow(ctx)
	}
	code := r.close()
	if failed() {
		return max(code, 1) // not everything was written
	}
	return code
}

// toolAsker asks a tool of an MCP server about calls.
func (r *run) toolAsker() *hostAsker {
	return &hostAsker{
		who: "the tool " + r.opts.AskTool, call: askTool(r.opened, r.opts.AskTool), before: r.drive.CatchUp, states: r.tell.waits,
		may: func(u wire.PermissionUpdate) error { return mayUpdate(&r.opts, u) }, warn: r.tell.warn,
	}
}

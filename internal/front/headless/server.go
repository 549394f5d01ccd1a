package headless

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/models/catalog"
	"github.com/haftdev/haft/internal/sys/stackroom"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/wire"
)

// Options are what a program wants in addition to the conversation itself.
type Options struct {
	// Harness and Talk say what to serve.
	Harness harness.Options
	Talk    harness.TalkOptions
	// AgentTexts reports the texts of agents, which the program may also ask for when it
	// initializes.
	AgentTexts bool
	// NoCommands takes prompts that begin with a slash as text.
	NoCommands bool
	// AskHost lets the program decide what the rules leave open; otherwise no one is asked,
	// and it is denied.
	AskHost bool
	// AskTool is a tool of an MCP server, as mcp__server__tool, that decides instead; ""
	// means none.
	AskTool string
	// Partial reports the pieces of answers, HookEvents every run of a hook, States the
	// session's state; Replay repeats prompts.
	Partial, HookEvents, States, Replay bool
	// ToolProgress reports the states of calls and their progress.
	ToolProgress bool
	// Guest says that the program is a client of a server, not of the user's own making: it can
	// bring nothing that runs on this machine, and change no settings but the rules that the
	// user's project keeps for its own.
	Guest bool
	// OwnersAgents are the agents that a guest cannot define, because the owner of the server
	// chose or defined them.
	OwnersAgents []string
	// Mirror repeats what is written to the session's files.
	Mirror bool
	// OneAnswer ends the session when the answer is there and no agent works in the
	// background any more; background commands are stopped then. So nothing is moved to the
	// background unless the model does it: commands end at their timeouts, and calls of MCP
	// servers are waited for.
	OneAnswer bool
	// Unattended says that the stream only carries events away: no one at its other end can
	// be asked, so MCP servers are told that they cannot ask.
	Unattended bool
	// OneSession says that someone else has given the session its name and looks for it under
	// that: /clear, which begins another one, is refused.
	OneSession bool
	// Watch is called with every event as well; nil means no one watches. It must not block
	// for long.
	Watch func(agent.Event) error
	// Interrupts stop the running turn and end the session, as Ctrl-C does; nil means that
	// there are none.
	Interrupts <-chan struct{}
	// StreamClosed is closed when no one reads the program's end of the stream any more;
	// nil means that this is noticed only when something is written.
	StreamClosed <-chan struct{}
	// Log is for what a user who looks for a fault should know; nil means none.
	Log io.Writer
	// Lang is the language of the answers to haft's own commands; nil is English, which
	// programs expect.
	Lang *lang.Catalogue
	// Version is that of the program that serves.
	Version string
}

// A server is one conversation with one program.
type server struct {
	opts  Options
	conn  *wire.Conn
	out   *outlet
	tell  *teller
	table map[string]row // of control requests
	news  chan struct{}  // holds a token when there may be something to do
	ended chan struct{}  // closed when no more messages come
	stop  context.CancelCauseFunc
	// context is that of the session: opening it is not part of any one request.
	context context.Context

	mu      sync.Mutex
	talk    *harness.Conversation // nil before it is opened
	failure error                 // why it cannot be opened
	init    *wire.Initialize
	waiting []heard // that came before it was opened
	typed   []heard // commands, and what came after them
	told    bool    // a turn has ended
	closing bool    // the program wants no more turns
	running bool    // events are told
	garbled error   // what was wrong with its last line
	mirror  *mirror // nil if the program wants none
	early   early
	// removeFlagRules removes the rules of settings that the program laid over the files'.
	removeFlagRules func()
	// questions are how many the program has not answered yet.
	questions atomic.Int32
	code      int

	began time.Time
	asked atomic.Int64 // milliseconds that models took for their answers
}

// Serve serves until the program has closed its input and everything is done, and returns
// the exit code: 0, 1 if the last turn ended with an error, or 2 if a user has typed
// options that name something that does not exist. When ctx ends, the running turn is
// stopped.
func Serve(ctx context.Context, stream wire.Stream, opts *Options) int {
	s := &server{opts: *opts, news: make(chan struct{}, 1), ended: make(chan struct{}), began: time.Now()}
	if s.opts.Log == nil {
		s.opts.Log = io.Discard
	}
	ctx, s.stop = context.WithCancelCause(ctx)
	s.context = ctx
	defer s.stop(nil)
	s.out = newOutlet(stream, func(err error) { s.stop(fmt.Errorf("the program stopped reading: %w", err)) })
	context.AfterFunc(ctx, func() { s.out.expire(answerTime) })
	go s.watchStream(ctx)
	s.table = s.requests()
	s.conn = wire.NewConn(s.out, &wire.ConnOptions{Handle: s.handle, Ordered: ordered, Answered: s.answered, BadLine: s.badLine})
	s.tell = s.newTeller()
	go func() {
		stackroom.Reserve()
		s.read(ctx)
	}()
	s.serve(ctx)
	defer s.out.close()
	return s.close()
}

// ordered requests are answered before the next line is read, because what the program
// sends after them relies on them.
func ordered(r wire.Request) bool {
	switch r.(type) {
	case *wire.Initialize, *wire.SetModel, *wire.SetPermissionMode, *wire.SetMaxThinkingTokens, *wire.Interrupt, *wire.EndSession, *wire.CancelAsyncMessage:
		return true
	}
	return false
}

// answered ends the session once the program has been told that it will, or that there is
// none.
func (s *server) answered(r wire.Request) {
	_, ends := r.(*wire.EndSession)
	_, opens := r.(*wire.Initialize)
	s.mu.Lock()
	ends = ends || opens && s.failure != nil
	s.closing = s.closing || ends
	s.mu.Unlock()
	if !ends {
		return
	}
	if talk := s.opened(); talk != nil {
		talk.Agent.Reconsider()
	}
	s.wake()
}

func (s *server) newTeller() *teller {
	t := &teller{
		send:    s.send,
		facts:   s.facts,
		partial: s.opts.Partial, states: s.opts.States, replay: s.opts.Replay, oneAnswer: s.opts.OneAnswer,
		tasks: make(map[string]agent.Task), agents: make(map[string]agent.Task),
		modelFor: func(name string) (int64, int64) {
			m := catalog.Lookup(name)
			return int64(m.Context), int64(m.MaxOutput)
		},
	}
	t.calls = &heartbeats{every: 30 * time.Second, stops: make(map[string]func() bool), beat: t.heartbeat}
	if s.opts.ToolProgress {
		t.reportCalls()
	}
	return t
}

// heartbeat reports that a call still runs.
func (t *teller) heartbeat(useID, tool string, n int, elapsed time.Duration) {
	t.send(&wire.ToolProgress{Stamp: t.stamp(""), ToolUseID: fmt.Sprintf("%s-heartbeat-%d", useID, n), ToolName: tool,
		ParentToolUseID: wire.NullString(useID), ElapsedTimeSeconds: elapsed.Seconds(), Heartbeat: true})
}

// read reads what the program sends until its end.
func (s *server) read(ctx context.Context) {
	if err := s.conn.Run(ctx, s.deliver); err != nil {
		fmt.Fprintf(s.opts.Log, "haft: could not read standard input: %s\n", visible.Indented(err.Error()))
		s.mu.Lock()
		s.garbled = err
		s.mu.Unlock()
	}
	close(s.ended)
}

// deliver handles messages that are not control messages. Unknown types are ignored: the
// program may be newer.
func (s *server) deliver(m wire.Message) {
	user, ok := m.(*wire.User)
	if !ok {
		return
	}
	p, err := prompt(user)
	if err != nil {
		s.warn("Could not read a prompt: " + err.Error())
		return
	}
	s.take(heard{p, user.ClientComposed})
}

// watchStream ends the session when no one reads it any more.
func (s *server) watchStream(ctx context.Context) {
	select {
	case <-s.opts.StreamClosed:
		s.out.fail(errNotReading)
	case <-ctx.Done():
	}
}

// badLine ends the session: a program that does not speak the protocol cannot be understood
// from here on.
func (s *server) badLine(err *wire.LineError) error {
	return fmt.Errorf("a line is not a message: %w", err)
}

// serve takes turns until there is nothing more to wait for.
func (s *server) serve(ctx context.Context) {
	for {
		s.work(ctx)
		if s.done() {
			return
		}
		select {
		case <-s.news:
		case <-s.opts.Interrupts:
			return
		case <-ctx.Done():
			return
		case <-s.ended:
			s.work(ctx)
			return
		}
	}
}

// work runs the queued turns, and the commands between them.
func (s *server) work(ctx context.Context) {
	talk := s.opened()
	if talk == nil {
		return
	}
	for {
		s.turns(ctx, talk)
		p, ok := s.nextTyped()
		if !ok || ctx.Err() != nil {
			return
		}
		s.command(ctx, talk, p)
		s.carriedOut()
	}
}

// nextTyped is the first of what waits behind a command. It waits there until it is carried
// out, so that nothing that comes meanwhile overtakes it.
func (s *server) nextTyped() (p heard, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.typed) == 0 {
		return p, false
	}
	return s.typed[0], true
}

// carriedOut lets what came after a command be next.
func (s *server) carriedOut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.typed) > 0 {
		s.typed = s.typed[1:]
	}
}

// turns runs the queued turns, until there can be no more or the program wants something
// else.
func (s *server) turns(ctx context.Context, talk *harness.Conversation) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.setRunning(true)
	defer s.setRunning(false)
	go s.interruptible(ctx, talk)
	for ev, err := range talk.RunAwaiting(ctx, s.awaits) {
		if err != nil {
			break // the turn that ran has sent its result
		}
		if m, ok := ev.(harness.Mark); ok {
			m.Reached()
			continue
		}
		if _, ok := ev.(agent.Result); ok {
			s.mirror.repeat(talk)
		}
		s.tell.tell(ev)
		if s.opts.Watch != nil {
			_ = s.opts.Watch(ev) // who watches cannot disturb
		}
		if r, ok := ev.(agent.Result); ok {
			if s.note(r); r.Reason == agent.TakenOver {
				s.takenOver(talk)
				return
			}
		}
	}
}

// takenOver ends the session here: what is queued is for the process that continues it.
func (s *server) takenOver(talk *harness.Conversation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing, s.typed = true, nil
	for _, p := range talk.Agent.Queued() {
		talk.Agent.Withdraw(p.UUID)
	}
}

// awaits reports whether to wait for a background task. There is no need to when the
// session is about to end, or when a command waits that is not part of a turn. A session
// with one prompt waits for the agents that work on it, and for nothing else.
func (s *server) awaits(k agent.Task) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.closing && len(s.typed) == 0 && (!s.opts.OneAnswer || k.Type == "local_agent")
}

// interruptible stops the turn on an interrupt, and on a line that is not a message.
func (s *server) interruptible(ctx context.Context, talk *harness.Conversation) {
	for ended := s.ended; ; {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			ended = nil
			if s.wasGarbled() == nil {
				continue
			}
		case <-s.opts.Interrupts:
		}
		break
	}
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	for _, p := range talk.Agent.Queued() {
		talk.Agent.Withdraw(p.UUID)
	}
	talk.Agent.Interrupt("")
	talk.Agent.Reconsider()
}

func (s *server) setRunning(running bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = running
}

func (s *server) note(r agent.Result) {
	s.asked.Add(r.APITime.Milliseconds())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.code, s.told = 0, true
	if s.tell.isError(r) {
		s.code = 1
	}
	if s.closing && (r.Reason == agent.AbortedTools || r.Reason == agent.AbortedStreaming) {
		s.code = 0 // the user stopped it
	}
}

// done reports whether no turn will follow.
func (s *server) done() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	closing := s.closing || s.opts.OneAnswer && s.told
	return closing && (s.talk == nil || len(s.talk.Agent.Queued()) == 0 && len(s.typed) == 0)
}

func (s *server) opened() *harness.Conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.talk
}

func (s *server) wasGarbled() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.garbled
}

// close ends everything that the conversation has started.
func (s *server) close() int {
	if talk := s.opened(); talk != nil {
		ctx, cancel := context.WithTimeoutCause(context.Background(), closeTime, fmt.Errorf("the session did not end within %s", closeTime))
		defer cancel()
		if err := talk.Close(ctx); err != nil {
			fmt.Fprintf(s.opts.Log, "haft: could not end the session: %s\n", visible.Indented(err.Error()))
		}
		s.mirror.repeat(talk)
		s.lastNotices(talk)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.garbled != nil || s.out.failed() {
		return max(s.code, 1) // not everything was sent or read
	}
	return s.code
}

// lastNotices reports what a user should know at the end, such as a hook that failed.
func (s *server) lastNotices(talk *harness.Conversation) {
	for _, ev := range talk.Agent.Unread() {
		if _, ok := ev.(agent.Notice); ok {
			s.tell.tell(ev)
			if s.opts.Watch != nil {
				_ = s.opts.Watch(ev) // who watches cannot disturb
			}
		}
	}
}

// How long a program may take to read a message after a signal to end, and how long the end
// of a session may take.
const (
	answerTime = 1500 * time.Millisecond
	closeTime  = time.Second
)

// begin opens the conversation, once, and accepts prompts; init is nil if the program sent
// none.
func (s *server) begin(ctx context.Context, init *wire.Initialize, prompts ...heard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, prompts...)
	if s.failure != nil || s.talk == nil && init == nil && len(s.waiting) == 0 {
		return
	}
	if s.talk == nil {
		s.init = init
		if s.talk, s.failure = s.open(ctx, init); s.failure != nil {
			s.failed(s.failure)
			s.closing = init == nil // otherwise once it has got the answer; see answered
			return
		}
		s.tell.inSession(s.talk.Agent.Session())
		if t := s.opts.Talk; s.opts.Mirror {
			s.mirror = newMirror(s.talk, (t.Resume != "" || t.Continue) && !t.Fork, s.tell.send)
		}
		s.waiting = slices.Concat(firstWords(init, s.opts.Harness.Agent), s.waiting)
	}
	waiting := s.waiting
	s.waiting = nil
	for _, p := range waiting {
		s.accept(p)
	}
}

// accept gives a prompt to the conversation, or keeps it.
func (s *server) accept(p heard) {
	if p.UUID != "" {
		s.tell.follow(p.UUID)
	}
	switch {
	case s.talk == nil:
		s.waiting = append(s.waiting, p)
	case len(s.typed) > 0 || !p.literal && (!s.opts.NoCommands && commandIn(s.talk.Input(), p.Prompt) >= 0 || s.talk.Input().Mentions(text(p.Prompt))):
		s.typed = append(s.typed, p)
	default:
		s.talk.Send(p.Prompt)
	}
}

// firstWords are what the main agent wants to send first.
func firstWords(init *wire.Initialize, name string) []heard {
	if init == nil || init.Agents[name].InitialPrompt == "" {
		return nil
	}
	return []heard{{Prompt: agent.Typed(init.Agents[name].InitialPrompt)}}
}

// failed reports why there is no conversation.
func (s *server) failed(err error) {
	fmt.Fprintf(s.opts.Log, "haft: %s\n", visible.Indented(err.Error()))
	s.code = 1
	if usage := (*project.UsageError)(nil); errors.As(err, &usage) && s.opts.Harness.Typed {
		s.code = 2
	}
	s.tell.inSession(session.NewUUID())
	reason := agent.Crashed
	if errors.Is(err, session.ErrFenced) {
		reason = agent.TakenOver
	}
	s.tell.result(agent.Result{Reason: reason, Errors: []string{err.Error()}})
}

func (s *server) wake() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

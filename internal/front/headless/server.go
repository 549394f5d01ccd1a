package headless

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/drive"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/sys/stackroom"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/visible"
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
	// ManagedLater says that the program sends managed settings with its first request, without
	// which there is no session.
	ManagedLater bool
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
	// ResultOnly says that nothing is read but results.
	ResultOnly bool
	// OnInterrupt is given what stops the running turn and ends the session, as Ctrl-C does;
	// nil means that nothing does.
	OnInterrupt func(stop func())
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

// A server is the end of the stream at which a program controls a run.
type server struct {
	run     *run
	program *program
	out     *outlet
	table   map[string]row  // of control requests
	guest   *guest          // nil if the program may ask everything
	context context.Context // of the session: opening it is not part of any one request
	garbled atomic.Bool     // the last line was not a message
}

// Serve serves until the program has closed its input and everything is done, and returns
// the exit code: 0, 1 if the last turn ended with an error, or 2 if a user has typed
// options that name something that does not exist. When ctx ends, the running turn is
// stopped.
func Serve(ctx context.Context, stream wire.Stream, opts *Options) int {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s := &server{context: ctx}
	s.out = newOutlet(stream, func(err error) { stop(fmt.Errorf("the program stopped reading: %w", err)) })
	context.AfterFunc(ctx, func() { s.out.expire(answerTime) })
	if opts.StreamClosed != nil {
		go s.watchStream(ctx, opts.StreamClosed)
	}
	conn := wire.NewConn(duplex{stream, s.out}, &wire.ConnOptions{Handle: s.handle, Ordered: ordered, Answered: s.answered, BadLine: badLine})
	s.run = newRun(opts, func(m wire.Message) { _ = conn.Send(m) }) // the outlet ends the session if it breaks
	s.program = newProgram(s.run, conn)
	s.begins()
	if opts.OnInterrupt != nil {
		opts.OnInterrupt(s.run.drive.Stop)
	}
	go func() {
		stackroom.Reserve()
		s.read(ctx, conn)
	}()
	s.run.follow(ctx)
	defer s.out.close()
	return s.close()
}

// begins makes the table of requests for the run.
func (s *server) begins() {
	s.table = newRequests(s.run).table()
	s.table["initialize"] = always(s.initialize)
	if s.run.opts.Guest {
		s.guest = &guest{&s.run.opts, s.run.opened}
	}
}

// duplex reads from a stream and writes to its outlet.
type duplex struct {
	wire.Stream
	out *outlet
}

func (d duplex) Write(m wire.Message) error { return d.out.Write(m) }

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
	if ends || opens && s.run.opensNothing() {
		s.run.drive.Leave()
	}
}

// read reads what the program sends until its end. A line that is not a message ends
// everything: a program that does not speak the protocol cannot be understood from here on.
func (s *server) read(ctx context.Context, conn *wire.Conn) {
	defer close(s.program.ended)
	if err := conn.Run(ctx, s.deliver); err != nil {
		fmt.Fprintf(s.run.opts.Log, "haft: could not read standard input: %s\n", visible.Indented(err.Error()))
		s.garbled.Store(true)
		s.run.drive.Stop()
	}
	s.run.drive.Finish()
}

func badLine(err *wire.LineError) error { return fmt.Errorf("a line is not a message: %w", err) }

// deliver handles messages that are not control messages. Unknown types are ignored: the
// program may be newer.
func (s *server) deliver(m wire.Message) {
	user, ok := m.(*wire.User)
	if !ok {
		return
	}
	p, err := prompt(user)
	if err != nil {
		s.run.tell.warn("Could not read a prompt: " + err.Error())
		return
	}
	s.run.say(drive.Message{Prompt: p, Literal: user.ClientComposed})
	s.begin(nil) // a program does not have to initialize
	if s.run.opensNothing() {
		s.run.drive.Leave()
	}
}

// begin opens the conversation, once; init is nil if the program sent none.
func (s *server) begin(init *wire.Initialize) {
	s.run.begin(s.context, init, func(h *harness.Options, t *harness.TalkOptions) {
		s.program.equip(h, t, init)
	})
}

// initialize opens the conversation and says what it offers; without one, the process ends. A program that initializes
// again gets the same answer, and the list of background work.
func (s *server) initialize(r *wire.Initialize) (any, error) {
	again := s.run.opened() != nil
	s.begin(r)
	talk := s.run.opened()
	if talk == nil {
		return nil, wire.ErrUnanswered // the result that was sent and the exit code say why, and programs tell errors apart by them
	}
	tell := s.run.tell
	if again {
		tell.send(tell.backgroundTasks())
	}
	reply := wire.InitializeReply{
		Commands: commands(talk), Agents: agents(talk), OutputStyle: talk.Style, AvailableOutputStyles: styles(talk),
		Models: models(), Account: account(talk.Provider, talk.KeySource),
		PID: os.Getpid(), ClaudeCodeVersion: s.run.opts.Version, CurrentPermissionMode: string(talk.World.Engine.Policy().Mode()),
		SessionState: tell.doing(), HookOnFailureSupported: true, FastModeState: "off", Capabilities: capabilities(),
	}
	if r.Hooks != nil {
		first := !again
		reply.HooksApplied = &first
	}
	if r.Plugins != nil {
		all := hasPlugins(talk, r.Plugins)
		reply.PluginsApplied = &all
	}
	return reply, nil
}

// handle answers a control request.
func (s *server) handle(ctx context.Context, r wire.Request) (any, error) {
	if s.guest != nil && s.table[r.Subtype()].answer != nil {
		if err := s.guest.may(r); err != nil {
			return nil, err
		}
	}
	return handle(ctx, s.table, s.run.opened, r)
}

// watchStream ends the session when no one reads it any more.
func (s *server) watchStream(ctx context.Context, closed <-chan struct{}) {
	select {
	case <-closed:
		s.out.fail(errNotReading)
	case <-ctx.Done():
	}
}

// close ends the run and returns the exit code.
func (s *server) close() int {
	code := s.run.close()
	if s.garbled.Load() || s.out.failed() {
		return max(code, 1) // not everything was sent or read
	}
	return code
}

// How long a program may take to read a message after a signal to end, and how long the end
// of a session may take.
const (
	answerTime = 1500 * time.Millisecond
	closeTime  = time.Second
)

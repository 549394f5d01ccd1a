package haft

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/wire"
)

// A Client is a running session of many turns. The package comment describes its life
// cycle; the caller closes it.
type Client struct {
	opts  *Options
	link  Link
	conn  *wire.Conn
	inbox *inbox
	hooks hookTable
	info  wire.InitializeReply

	ctx    context.Context // of callbacks; ends when the client does
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when everything is over
	exit   error         // how the other side ended, set before

	mu      sync.Mutex
	servers map[string]MCPServer // those in use now
	last    *Result              // the last result that came
	// prompted says that a prompt was sent.
	prompted bool
	// oneShot closes the input when the run is over; the fields after it tell when.
	oneShot         bool
	stateSeen, idle bool
}

// NewClient starts the command line and waits until it is ready. The session ends when the
// context is cancelled. Nil options mean the defaults.
func NewClient(ctx context.Context, opts *Options) (*Client, error) {
	return start(ctx, opts.clone(), false)
}

// errClosed is why a client that was closed has ended.
var errClosed = errors.New("the client is closed")

func start(ctx context.Context, opts *Options, oneShot bool) (_ *Client, err error) {
	c := &Client{opts: opts, oneShot: oneShot, servers: opts.MCPServers, inbox: newInbox(), hooks: newHookTable(opts.Hooks), done: make(chan struct{})}
	if opts.Questions {
		opts.CanUseTool = c.ask
	}
	if b := opts.Budget; b != nil {
		if opts.MaxBudgetUSD, err = b.hold(ctx, opts.MaxBudgetUSD); err != nil {
			return nil, err
		}
		defer func() {
			if c.cancel == nil {
				b.settle(opts.MaxBudgetUSD, 0) // nothing has run
			}
		}()
	}
	args, err := opts.args()
	if err != nil {
		return nil, err
	}
	hello, err := opts.initialize(c.hooks.matchers)
	if err != nil {
		return nil, err
	}
	transport := opts.Transport
	if transport == nil {
		transport = process{cli: opts.CLI, grace: opts.Grace}
	}
	c.link, err = transport.Start(ctx, &Launch{Args: args, Env: opts.environ(), Dir: opts.Dir, Stderr: opts.Stderr})
	if err != nil {
		return nil, err
	}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.conn = wire.NewConn(c.link, &wire.ConnOptions{Handle: c.answer})
	go c.run()
	if err := c.initialize(hello); err != nil {
		c.Close()
		return nil, c.withDiagnostics(err)
	}
	return c, nil
}

// answer serves the requests of the command line.
func (c *Client) answer(ctx context.Context, r wire.Request) (any, error) {
	switch r := r.(type) {
	case *wire.CanUseTool:
		return decide(ctx, c.opts.CanUseTool, r)
	case *wire.HookCallback:
		return c.hooks.call(ctx, r)
	case *wire.MCPMessage:
		return c.serveMCP(ctx, r)
	case *wire.Elicitation:
		return elicit(ctx, c.opts.Elicit, r)
	}
	return nil, wire.Unsupported(r)
}

// withDiagnostics adds the last output of the command line to an error that does not
// contain it. A closed connection only shows that the command line has ended, not why.
func (c *Client) withDiagnostics(err error) error {
	exit := (*ExitError)(nil)
	if errors.As(err, &exit) || !errors.As(c.exit, &exit) {
		return err
	}
	if errors.Is(err, wire.ErrClosed) {
		return fmt.Errorf("initialize: %w", exit)
	}
	if exit.Stderr == "" {
		return err
	}
	return &diagnosedError{err, exit}
}

// A diagnosedError is an error of a conversation whose command line has ended, with the
// command line's own last output.
type diagnosedError struct {
	err  error
	exit *ExitError
}

func (e *diagnosedError) Error() string {
	return e.err.Error() + "; it said: " + strings.TrimSpace(e.exit.Stderr)
}

func (e *diagnosedError) Unwrap() []error { return []error{e.err, e.exit} }

// run follows the conversation to its end.
func (c *Client) run() {
	defer close(c.done)
	stop := context.AfterFunc(c.ctx, c.abort)
	err := c.conn.Run(c.ctx, c.deliver)
	// No more messages will come, so only the end is left to wait for.
	_ = c.link.CloseWrite()
	c.exit = c.waitOrClose()
	if cause := context.Cause(c.ctx); cause != nil {
		err = cause
	} else if err == nil {
		err = c.exit
	}
	stop()
	c.cancel(errClosed)
	_ = c.link.Close()
	c.conn.Wait()
	if errors.Is(err, errClosed) {
		err = nil
	}
	if c.opts.Budget != nil {
		c.opts.Budget.settle(c.opts.MaxBudgetUSD, c.cost())
	}
	c.inbox.end(err)
}

// cost is what the conversation has cost. Without a result of a prompt that is unknown, and
// counts as all that it was allowed to.
func (c *Client) cost() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.last != nil:
		return c.last.TotalCostUSD
	case c.prompted:
		return c.opts.MaxBudgetUSD
	}
	return 0
}

// deliver takes in a message. It runs in order and must not block.
func (c *Client) deliver(m Message) {
	switch m := m.(type) {
	case *wire.KeepAlive, *wire.TranscriptMirror:
		return
	case *Result:
		c.noteResult(m)
	case *wire.SessionStateChanged:
		c.noteState(m.State)
		if m.SDKHostOnly {
			return
		}
	}
	c.inbox.put(m)
}

// abort ends the other side. It interrupts the turn first: otherwise the other side may
// finish what it was sent, and would have to be killed.
func (c *Client) abort() {
	told := make(chan struct{})
	go func() {
		defer close(told)
		_ = c.conn.Send(&wire.ControlRequest{RequestID: newUUID(), Request: &wire.Interrupt{CancelQueued: true}})
	}()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-told:
	case <-t.C: // it does not read; closing also frees the writer
	}
	_ = c.link.Close()
}

// patience is how long abort waits for an other side that may no longer read.
const patience = 100 * time.Millisecond

// waitOrClose waits for the other side to end by itself. If it has sent its last message
// and does not end, it is closed.
func (c *Client) waitOrClose() error {
	exit := make(chan error, 1)
	go func() { exit <- c.link.Wait() }()
	t := time.NewTimer(c.opts.Grace)
	defer t.Stop()
	select {
	case err := <-exit:
		return err
	case <-t.C:
		_ = c.link.Close()
		return <-exit
	}
}

// initialize sends the first request and waits for the answer.
func (c *Client) initialize(hello *wire.Initialize) error {
	ctx, cancel := context.WithTimeoutCause(c.ctx, c.opts.StartTimeout, errors.New("the haft process did not answer in time"))
	defer cancel()
	err := c.conn.Call(ctx, hello, &c.info)
	if err == nil && c.needsBlocking() && !c.info.HookOnFailureSupported {
		return errors.New("Hook.Block is set, but this version of haft cannot block when a hook fails")
	}
	refused := (*wire.ControlError)(nil)
	if err == nil || errors.As(err, &refused) || ctx.Err() != nil {
		return err
	}
	c.endSoon() // the conversation broke off; the way it ended says more
	for ok := true; ok; {
		var why error
		if _, ok, why = c.inbox.next(); why != nil {
			err = why
		}
	}
	return c.verdict(err)
}

// endSoon waits for the end of a conversation that broke off, and closes it if necessary.
func (c *Client) endSoon() {
	t := time.NewTimer(c.opts.Grace)
	defer t.Stop()
	select {
	case <-c.done:
	case <-t.C:
		c.Close()
	}
}

func (c *Client) needsBlocking() bool {
	for _, h := range c.opts.Hooks {
		if h.Block {
			return true
		}
	}
	return false
}

func (c *Client) serveMCP(ctx context.Context, r *wire.MCPMessage) (any, error) {
	c.mu.Lock()
	server, ok := c.servers[r.ServerName].(*ToolServer)
	c.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("SDK MCP server not found: %s", r.ServerName)
	}
	return server.serve(ctx, r.ServerName, r.Message, func(message json.RawMessage) {
		_ = c.conn.Call(ctx, &wire.MCPMessage{ServerName: r.ServerName, Message: message}, nil) // progress is not essential
	})
}

func (c *Client) noteResult(r *Result) {
	c.mu.Lock()
	c.last = r
	c.mu.Unlock()
	c.closeIfOver()
}

func (c *Client) noteState(state string) {
	c.mu.Lock()
	c.stateSeen, c.idle = true, state == wire.StateIdle
	c.mu.Unlock()
	c.closeIfOver()
}

// closeIfOver closes the input of a query when its run is over: at the result or, if
// callbacks may still be called, when the session is idle afterwards.
func (c *Client) closeIfOver() {
	c.mu.Lock()
	over := c.oneShot && c.last != nil && (!c.hasCallbacksLocked() || !c.stateSeen || c.idle)
	c.mu.Unlock()
	if over {
		_ = c.link.CloseWrite() // closing again does nothing
	}
}

func (c *Client) hasCallbacksLocked() bool {
	if c.opts.CanUseTool != nil || len(c.opts.Hooks) > 0 || c.opts.Elicit != nil {
		return true
	}
	for _, s := range c.servers {
		if _, here := s.(*ToolServer); here {
			return true
		}
	}
	return false
}

// Info returns what the command line said it offers when it started.
func (c *Client) Info() Info { return c.info }

// Call makes any request of package wire. Reply points to a value of the type of its
// answer, or is nil. The other methods are shorthands for it.
func (c *Client) Call(ctx context.Context, r wire.Request, reply any) error {
	return c.conn.Call(ctx, r, reply)
}

// Interrupt stops the running turn, which still ends with a result. It returns the ids of
// prompts that are still queued.
func (c *Client) Interrupt(ctx context.Context) (queued []string, err error) {
	reply, err := ask[wire.InterruptReply](ctx, c, &wire.Interrupt{})
	return reply.StillQueued, err
}

// SetMode changes the permission mode.
func (c *Client) SetMode(ctx context.Context, m Mode) error {
	return c.Call(ctx, &wire.SetPermissionMode{Mode: string(m)}, nil)
}

// SetModel changes the model, "" to the default one, and returns its full name.
func (c *Client) SetModel(ctx context.Context, name string) (string, error) {
	reply, err := ask[wire.SetModelReply](ctx, c, &wire.SetModel{Model: name})
	return reply.Model, err
}

// SetMaxThinkingTokens bounds thinking; nil means the model's default.
func (c *Client) SetMaxThinkingTokens(ctx context.Context, n *int) error {
	return c.Call(ctx, &wire.SetMaxThinkingTokens{MaxThinkingTokens: n}, nil)
}

// MCPStatus returns the state of all MCP servers.
func (c *Client) MCPStatus(ctx context.Context) ([]MCPServerStatus, error) {
	reply, err := ask[wire.MCPStatusReply](ctx, c, &wire.MCPStatus{})
	return reply.MCPServers, err
}

// SetMCPServers replaces the MCP servers that this program provides, including those made
// of Go functions. Servers that are configured elsewhere stay.
func (c *Client) SetMCPServers(ctx context.Context, servers map[string]MCPServer) (*MCPChanges, error) {
	configs := map[string]json.RawMessage{}
	for name, server := range servers {
		config, err := mcpConfig(name, server)
		if err != nil {
			return nil, err
		}
		configs[name] = config
	}
	c.mu.Lock()
	before := c.servers
	c.servers = maps.Clone(servers) // before the request: its answer may need them
	c.mu.Unlock()
	reply, err := ask[MCPChanges](ctx, c, &wire.MCPSetServers{Servers: configs})
	if err != nil {
		c.mu.Lock()
		c.servers = before
		c.mu.Unlock()
	}
	return &reply, err
}

// ReconnectMCP connects to an MCP server again.
func (c *Client) ReconnectMCP(ctx context.Context, server string) error {
	return c.Call(ctx, &wire.MCPReconnect{ServerName: server}, nil)
}

// ToggleMCP switches an MCP server on or off.
func (c *Client) ToggleMCP(ctx context.Context, server string, on bool) error {
	return c.Call(ctx, &wire.MCPToggle{ServerName: server, Enabled: on}, nil)
}

// ContextUsage says what fills the model's context.
func (c *Client) ContextUsage(ctx context.Context) (*ContextUsage, error) {
	reply, err := ask[ContextUsage](ctx, c, &wire.GetContextUsage{})
	return &reply, err
}

// Usage says what the session has cost.
func (c *Client) Usage(ctx context.Context) (*Usage, error) {
	reply, err := ask[Usage](ctx, c, &wire.GetUsage{SkipBehaviors: true})
	return &reply, err
}

// Rewind restores the files to what they were when the prompt with this id (see
// [Client.Send]) was sent.
func (c *Client) Rewind(ctx context.Context, prompt string) (*Rewound, error) {
	reply, err := ask[Rewound](ctx, c, &wire.RewindFiles{UserMessageID: prompt})
	return &reply, err
}

// PreviewRewind returns what Rewind would do.
func (c *Client) PreviewRewind(ctx context.Context, prompt string) (*Rewound, error) {
	reply, err := ask[Rewound](ctx, c, &wire.RewindFiles{UserMessageID: prompt, DryRun: true})
	return &reply, err
}

// ReadFile reads a file where the command line runs.
func (c *Client) ReadFile(ctx context.Context, path string) (string, error) {
	reply, err := ask[wire.ReadFileReply](ctx, c, &wire.ReadFile{Path: path})
	return reply.Contents, err
}

// StopTask ends a task in the background.
func (c *Client) StopTask(ctx context.Context, id string) error {
	return c.Call(ctx, &wire.StopTask{TaskID: id}, nil)
}

// Background moves a running call, named by the id of its tool_use block, to the
// background: the call returns, and its end is reported later. "" means all running calls.
// Background reports whether there was such a call; for "" it always reports true.
func (c *Client) Background(ctx context.Context, useID string) (bool, error) {
	reply, err := ask[wire.BackgroundTasksReply](ctx, c, &wire.BackgroundTasks{ToolUseID: useID})
	return err == nil && (reply.Backgrounded == nil || *reply.Backgrounded), err
}

// TaskOutput returns the end of what a command in the background has written.
func (c *Client) TaskOutput(ctx context.Context, id string) (string, error) {
	reply, err := ask[wire.TaskOutputReply](ctx, c, &wire.GetTaskOutput{TaskID: id})
	return reply.Output, err
}

// Rename gives the session a title.
func (c *Client) Rename(ctx context.Context, title string) error {
	return c.Call(ctx, &wire.RenameSession{Title: title}, nil)
}

// ApplySettings overrides the current settings.
func (c *Client) ApplySettings(ctx context.Context, settings json.RawMessage) error {
	return c.Call(ctx, &wire.ApplyFlagSettings{Settings: settings}, nil)
}

// Explain says what would be decided about a call of a tool with this input, by the code that
// decides about the model's calls. Nothing runs, and no one is asked.
func (c *Client) Explain(ctx context.Context, tool string, input any) (*Explanation, error) {
	raw, err := json.Marshal(input)
	if err != nil {
		return nil, fmt.Errorf("encode the input of %s: %w", tool, err)
	}
	reply, err := ask[Explanation](ctx, c, &wire.ExplainCall{ToolName: tool, Input: raw})
	return &reply, err
}

// verdict is the error of a query that ended with err.
func (c *Client) verdict(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	exit := (*ExitError)(nil)
	switch {
	case c.last != nil && c.last.IsError && (err == nil || errors.As(err, &exit)):
		return &ResultError{c.last} // the exit code only repeats it
	case c.last == nil && err == nil:
		return errUnfinished
	}
	return err
}

// Send sends a prompt and returns its id. It does not wait for the turn. A prompt that is
// sent during a turn joins it, or starts the next one.
func (c *Client) Send(prompt string) (id string, err error) {
	m := wire.Prompt(prompt)
	m.UUID = newUUID()
	return m.UUID, c.SendMessage(m)
}

// SendMessage sends a prompt with images, a priority or its own id.
func (c *Client) SendMessage(m *User) error {
	c.mu.Lock()
	c.prompted = true
	c.mu.Unlock()
	return c.conn.Send(m)
}

// CloseSend tells the command line that no more prompts will come. The command line
// finishes what it was sent and exits; messages can be read until then.
func (c *Client) CloseSend() error { return c.link.CloseWrite() }

// Messages yields what happens, from where the last loop over it stopped, until the session
// ends. If there is an error, it is yielded last.
func (c *Client) Messages() iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		for {
			m, ok, err := c.inbox.next()
			if !ok {
				if err != nil {
					yield(nil, err)
				}
				return
			}
			if !yield(m, nil) {
				return
			}
		}
	}
}

// Turn sends a prompt and yields what happens up to its result, which is the last message.
// If the session ends before that, it yields an error. Unread messages of earlier turns
// come first.
func (c *Client) Turn(prompt string) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		id, err := c.Send(prompt)
		if err != nil {
			yield(nil, err)
			return
		}
		for m, err := range c.Messages() {
			if !yield(m, err) || err != nil {
				return
			}
			if r, ok := m.(*Result); ok && answers(r, id) {
				return
			}
		}
		yield(nil, errUnfinished)
	}
}

// Done is closed when the session has ended and nothing of it is left.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err returns why the session has ended: nil while it runs, and after Close or an end in good order.
func (c *Client) Err() error {
	select {
	case <-c.done:
		return c.inbox.why()
	default:
		return nil
	}
}

// Close ends the session and waits until nothing of it is left, including running
// callbacks, so a callback must not call Close. It may be called more than once.
func (c *Client) Close() error {
	c.cancel(errClosed)
	<-c.done
	return nil
}

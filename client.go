package haft

import (
	"context"
	"errors"
	"fmt"
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

func start(ctx context.Context, opts *Options, oneShot bool) (*Client, error) {
	args, err := opts.args()
	if err != nil {
		return nil, err
	}
	c := &Client{opts: opts, oneShot: oneShot, servers: opts.MCPServers, inbox: newInbox(), hooks: newHookTable(opts.Hooks), done: make(chan struct{})}
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
	c.inbox.end(err)
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

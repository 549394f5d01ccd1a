// Package stdio connects to an MCP server that is a process of its own, over its
// standard input and output.
//
// Start starts the process and returns its connection, which the protocol
// library reads and writes. A line that is no message is skipped, a message that
// is too long fails the call it answers, a server that is silent when asked for
// its era is answered for, and the end of the process comes with its exit status
// and its last words.
//
// A Conn is safe for concurrent use. Close ends the process with all it started,
// first by closing its input, then by signals, and waits for it, in bounded
// time.
package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/internal/world/mcp/envelope"
	"github.com/haftdev/haft/internal/world/mcp/gate"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Options say how to connect. All fields are needed.
type Options struct {
	Runner  shellrun.Runner
	Gate    *gate.Gate
	Max     int           // bytes of one message
	Probe   time.Duration // how long the question for the era may stay unanswered
	Grace   time.Duration // between closing the input, SIGTERM and SIGKILL
	Command shellrun.Command
}

// A Conn is the connection to a server process.
type Conn struct {
	opts  Options
	proc  shellrun.Process
	stdin *os.File
	errs  tail

	incoming chan envelope.Message
	outgoing chan []byte
	sending  sync.Mutex    // held to write past the queue
	queued   atomic.Int64  // messages that are not written yet
	eof      chan struct{} // closed when standard output ends
	lost     chan struct{} // closed when the process is gone, or Close began
	losing   sync.Once
	cause    error // valid once lost is closed
	silent   atomic.Bool
	closing  sync.Once
	closed   chan struct{} // closed when Close is done
}

// Start starts the process.
func Start(opts Options) (*Conn, error) {
	var read, write [3]*os.File
	defer func() { // the child's ends
		for _, f := range []*os.File{read[0], write[1], write[2]} {
			if f != nil {
				f.Close()
			}
		}
	}()
	for i := range read {
		var err error
		if read[i], write[i], err = os.Pipe(); err != nil {
			return nil, fmt.Errorf("make a pipe for the server: %w", err)
		}
	}
	cmd := opts.Command
	cmd.Input, cmd.Output, cmd.Errors = read[0], write[1], write[2]
	proc, err := opts.Runner.Start(cmd)
	if err != nil {
		for _, f := range []*os.File{write[0], read[1], read[2]} {
			f.Close()
		}
		return nil, err
	}
	c := &Conn{
		opts: opts, proc: proc, stdin: write[0],
		incoming: make(chan envelope.Message), outgoing: make(chan []byte, 64),
		eof: make(chan struct{}), lost: make(chan struct{}), closed: make(chan struct{}),
	}
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		c.errs.follow(read[2])
	}()
	go c.read(read[1])
	go c.write()
	go c.watch(read[1], read[2], heard)
	return c, nil
}

// PID is that of the server.
func (c *Conn) PID() int { return c.proc.PID() }

// Stderr returns the first and the last lines that the server wrote to standard error.
func (c *Conn) Stderr() []string { return c.errs.snapshot() }

// Lost is closed when the connection has ended; Cause then says why.
func (c *Conn) Lost() <-chan struct{} { return c.lost }

// Cause says why the connection ended.
func (c *Conn) Cause() error {
	<-c.lost
	return c.cause
}

// lose ends the connection for a reason; the first one counts.
func (c *Conn) lose(cause error) {
	c.losing.Do(func() {
		c.cause = cause
		close(c.lost)
	})
}

// watch waits for the end of the process and says how it came.
func (c *Conn) watch(out, errs *os.File, heard <-chan struct{}) {
	<-c.proc.Done()
	// Its files may be held open by a process that is not ours to end.
	settle := time.Now().Add(200 * time.Millisecond)
	_ = out.SetReadDeadline(settle)
	_ = errs.SetReadDeadline(settle)
	<-heard
	<-c.eof
	c.lose(&ExitError{Status: c.proc.Status(), Stderr: c.Stderr()})
	out.Close()
	errs.Close()
	c.stdin.Close()
}

// read hands over messages until the end of standard output.
func (c *Conn) read(out io.Reader) {
	defer c.ended()
	lines := newLineReader(out, c.opts.Max)
	for {
		line, err := lines.next()
		if err == errLong {
			c.failLong(line)
			continue
		}
		if err != nil {
			return
		}
		c.admit(trim(line))
	}
}

// admit hands over what a line has: one message, or a batch of them.
func (c *Conn) admit(line []byte) {
	if len(line) > 0 && line[0] == '[' && json.Valid(line) {
		for element := range envelope.Elements(line) {
			c.admit(element)
		}
		return
	}
	if m, ok := c.opts.Gate.Admit(line); ok {
		c.deliver(m)
	}
}

// ended makes sure that a server which closed its output, and lives on, is not
// taken for one that may answer.
func (c *Conn) ended() {
	close(c.eof)
	select {
	case <-c.proc.Done():
	case <-c.lost:
	case <-time.After(c.opts.Grace):
		c.lose(&ClosedError{What: "output", Stderr: c.Stderr()})
		c.proc.End(c.opts.Grace)
	}
}

func (c *Conn) deliver(m envelope.Message) {
	select {
	case c.incoming <- m:
	case <-c.lost:
	}
}

func trim(line []byte) []byte {
	return bytes.TrimPrefix(bytes.TrimSpace(line), []byte("\ufeff"))
}

// failLong answers for a message that was too long to read.
func (c *Conn) failLong(head []byte) {
	m := envelope.Message{ID: envelope.IDOf(head)}
	id, ok := m.Number()
	if !ok || c.opts.Gate.Waiting(id) == "" {
		c.opts.Gate.Noise(string(head))
		return
	}
	c.opts.Gate.Forget(id)
	c.deliver(gate.Failure(id, fmt.Sprintf("the server's answer is longer than %d MiB", c.opts.Max>>20)))
}

// write sends what is queued: a server that does not read must not hold up who
// sends. It is the only writer while anything is queued.
func (c *Conn) write() {
	for {
		select {
		case data := <-c.outgoing:
			_, err := c.stdin.Write(data)
			c.queued.Add(-1)
			if err != nil {
				c.deaf()
				return
			}
		case <-c.lost:
			return
		}
	}
}

// deaf is the end of a server that lives and does not listen any more. If it is
// about to exit, that says more.
func (c *Conn) deaf() {
	select {
	case <-c.lost:
	case <-time.After(c.opts.Grace):
		c.lose(&ClosedError{What: "input", Stderr: c.Stderr()})
		c.proc.End(c.opts.Grace)
	}
}

// Read returns the next message for the protocol library.
func (c *Conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.incoming:
		return Decode(m)
	case <-c.lost:
		return nil, c.cause
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write queues a message of the protocol library.
func (c *Conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	m := c.opts.Gate.Sent(data)
	if err := c.send(ctx, append(data, '\n')); err != nil {
		return err
	}
	if m.Method == "server/discover" {
		id, _ := m.Number()
		time.AfterFunc(c.opts.Probe, func() { c.answerProbe(id) })
	}
	return nil
}

// send writes a message at once if nothing is queued and the pipe has room, which saves a
// hand-over to another goroutine, and queues it otherwise.
func (c *Conn) send(ctx context.Context, line []byte) error {
	c.sending.Lock()
	if c.queued.Load() == 0 && !c.isLost() && writeNow(c.stdin, line) {
		c.sending.Unlock()
		return nil
	}
	c.queued.Add(1)
	c.sending.Unlock()
	select {
	case c.outgoing <- line:
		return nil
	case <-c.lost:
		return c.cause
	case <-ctx.Done():
		c.queued.Add(-1)
		return ctx.Err()
	}
}

func (c *Conn) isLost() bool {
	select {
	case <-c.lost:
		return true
	default:
		return false
	}
}

// answerProbe speaks for a server that does not know the question.
func (c *Conn) answerProbe(id int64) {
	if c.opts.Gate.Waiting(id) != "" {
		c.opts.Gate.Forget(id)
		c.silent.Store(true)
		c.deliver(gate.Failure(id, "the server did not answer server/discover"))
	}
}

// HandshakeTimedOut reports whether the server did not answer server/discover in time.
func (c *Conn) HandshakeTimedOut() bool { return c.silent.Load() }

// SessionID is empty: a process is its own session.
func (c *Conn) SessionID() string { return "" }

// Close ends the server. The library calls it too, on errors of its own.
func (c *Conn) Close() error {
	c.closing.Do(func() {
		defer close(c.closed)
		c.lose(ErrClosed)
		c.stdin.Close()
		if !c.gone(c.opts.Grace) {
			c.proc.End(c.opts.Grace)
			c.gone(c.opts.Grace + 2*time.Second)
		}
	})
	<-c.closed
	return nil
}

func (c *Conn) gone(within time.Duration) bool {
	select {
	case <-c.proc.Done():
		return true
	case <-time.After(within):
		return false
	}
}

// Decode makes a message of the protocol library.
func Decode(m envelope.Message) (jsonrpc.Message, error) {
	if m.IsResponse() && m.Error == nil {
		id, _ := m.Number()
		made, err := jsonrpc.MakeID(float64(id))
		return &jsonrpc.Response{ID: made, Result: m.Result}, err
	}
	return jsonrpc.DecodeMessage(gate.Encode(m))
}

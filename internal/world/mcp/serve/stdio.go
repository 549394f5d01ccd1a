package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// stream is the transport of Stdio. What is not a message is answered as such and
// ends nothing.
type stream struct {
	in   io.Reader
	out  io.Writer
	gone func() // ends what runs, once the client is gone
}

// Connect begins to read.
func (s *stream) Connect(context.Context) (sdk.Connection, error) {
	c := &lines{stream: s, incoming: make(chan incoming), closed: make(chan struct{}), pending: make(map[jsonrpc.ID]chan struct{})}
	go c.read()
	return c, nil
}

// lines is a connection with a message in each line.
type lines struct {
	*stream
	incoming chan incoming
	closed   chan struct{}
	once     sync.Once

	writing sync.Mutex
	mu      sync.Mutex
	pending map[jsonrpc.ID]chan struct{} // requests without an answer; closed with it
}

type incoming struct {
	message jsonrpc.Message
	err     error
}

const (
	maxLine = maxBody
	// lastWords is how long a client that is gone may hold up the end.
	lastWords = 2 * time.Second
)

// read hands over messages until the stream ends. The read of a stream cannot be
// ended, so it may outlive the connection.
func (c *lines) read() {
	r := bufio.NewReaderSize(c.in, 64<<10)
	for {
		line, err := readLine(r)
		if line = bytes.TrimSpace(line); len(line) > 0 {
			c.take(line)
		}
		if err != nil {
			c.finish()
			c.hand(incoming{err: err})
			return
		}
	}
}

// readLine returns a line, or, if it is too long, a beginning that is not a message.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// take hands over what a line holds: a message, or in the oldest revision several.
func (c *lines) take(line []byte) {
	var several []json.RawMessage
	if line[0] != '[' || json.Unmarshal(line, &several) != nil {
		several = []json.RawMessage{line}
	}
	for _, raw := range several {
		m, err := jsonrpc.DecodeMessage(raw)
		if err != nil {
			c.refuse(err)
			continue
		}
		answered := c.expect(m)
		c.hand(incoming{message: m})
		if answered != nil {
			select { // what follows builds on it, and must not overtake it
			case <-answered:
			case <-c.closed:
			}
		}
	}
}

func (c *lines) hand(in incoming) {
	select {
	case c.incoming <- in:
	case <-c.closed:
	}
}

// refuse answers what is not a message.
func (c *lines) refuse(err error) {
	text, merr := json.Marshal(fmt.Sprintf("this line is not a JSON-RPC message: %v", err))
	if merr != nil {
		return
	}
	c.writeLine(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":%s}}`, text))
}

// expect notes that a request is to be answered. It returns when that is, if the
// next message has to wait for it.
func (c *lines) expect(m jsonrpc.Message) <-chan struct{} {
	req, ok := m.(*jsonrpc.Request)
	if !ok || !req.ID.IsValid() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	answered := make(chan struct{})
	c.pending[req.ID] = answered
	if req.Method != "initialize" {
		return nil
	}
	return answered
}

// answered takes an answer off the list.
func (c *lines) answered(m jsonrpc.Message) {
	resp, ok := m.(*jsonrpc.Response)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if done := c.pending[resp.ID]; done != nil {
		close(done)
		delete(c.pending, resp.ID)
	}
}

// finish ends what runs after the client has closed its end, and lets the answers
// go out: it may still listen.
func (c *lines) finish() {
	c.gone()
	c.mu.Lock()
	var open []chan struct{}
	for _, done := range c.pending {
		open = append(open, done)
	}
	c.mu.Unlock()
	patience := time.After(lastWords)
	for _, done := range open {
		select {
		case <-done:
		case <-patience:
			return
		case <-c.closed:
			return
		}
	}
}

// Read returns the next message.
func (c *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case in := <-c.incoming:
		return in.message, in.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.closed:
		return nil, io.EOF
	}
}

// Write sends a message.
func (c *lines) Write(_ context.Context, m jsonrpc.Message) error {
	raw, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	defer c.answered(m)
	return c.writeLine(raw)
}

func (c *lines) writeLine(raw []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(append(raw, '\n'))
	return err
}

// Close ends the connection; the streams are their owner's.
func (c *lines) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// SessionID is what the SDK's connections have.
func (c *lines) SessionID() string { return "" }

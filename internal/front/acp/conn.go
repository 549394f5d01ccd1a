package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/haftdev/haft/internal/text/plainjson"
)

// Bounds on what a client may send.
const (
	maxLine     = 64 << 20 // bytes of one message
	maxRequests = 512      // that are being answered
)

// A message is anything that goes over the wire.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// A conn is JSON-RPC 2.0, a message on each line, in both directions. It is safe for
// concurrent use.
type conn struct {
	in  *bufio.Reader
	out io.Writer

	turn chan struct{} // holds a token while a message is being written
	gone chan struct{} // closed when nothing more can be written
	once sync.Once

	mu      sync.Mutex
	last    int64                    // id of our newest request
	asked   map[string]chan *message // our requests that wait, by id
	running map[string]*request      // theirs, by id
}

func newConn(in io.Reader, out io.Writer) *conn {
	return &conn{
		in: bufio.NewReaderSize(in, 64<<10), out: out, turn: make(chan struct{}, 1), gone: make(chan struct{}),
		asked: make(map[string]chan *message), running: make(map[string]*request),
	}
}

// A request is something that the client asks for, or tells if it has no id. It is
// answered once.
type request struct {
	ctx    context.Context // ended when the client takes the request back
	method string
	params json.RawMessage

	conn   *conn
	id     json.RawMessage
	cancel context.CancelFunc
}

// reply answers a request.
func (r *request) reply(result any, err error) {
	r.cancel()
	if r.id == nil {
		return
	}
	r.conn.mu.Lock()
	_, waits := r.conn.running[string(r.id)]
	delete(r.conn.running, string(r.id))
	r.conn.mu.Unlock()
	if !waits {
		return
	}
	m := &message{ID: r.id}
	if err == nil {
		m.Result, err = plainjson.Marshal(result)
	}
	if err != nil {
		m.Result, m.Error = nil, errorOf(err)
	}
	_ = r.conn.write(m) // a client that does not listen is noticed by those who watch it
}

// read reads the parameters of a request.
func (r *request) read(params any) error {
	if len(r.params) == 0 {
		r.params = json.RawMessage("{}")
	}
	if err := json.Unmarshal(r.params, params); err != nil {
		return errorf(codeInvalidParams, "The parameters of %s cannot be read: %s", r.method, misread(err))
	}
	return nil
}

// read takes messages until there are no more. Requests are handed to handle one after
// the other, in the order in which they came; it must not wait for the client.
func (c *conn) read(ctx context.Context, handle func(*request)) error {
	for {
		line, err := c.line()
		switch {
		case errors.Is(err, errTooLong):
			c.refuse(nil, errorf(codeInvalidRequest, "A message is longer than %d MB.", maxLine>>20))
			continue
		case err != nil:
			return err
		case len(line) == 0:
			continue
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			code := codeParse
			if json.Valid(line) {
				code = codeInvalidRequest
			}
			c.refuse(nil, errorf(code, "A line is not a message: %s", misread(err)))
			continue
		}
		c.take(ctx, &m, handle)
	}
}

// take takes one message.
func (c *conn) take(ctx context.Context, m *message, handle func(*request)) {
	if string(m.ID) == "null" {
		m.ID = nil
	}
	switch {
	case m.Version != "2.0":
		id := m.ID
		if m.Method == "" {
			id = nil // of one of our requests
		}
		c.refuse(id, errorf(codeInvalidRequest, "The field jsonrpc must be \"2.0\"."))
	case m.Method == "" && m.ID != nil:
		c.mu.Lock()
		answer := c.asked[string(m.ID)]
		delete(c.asked, string(m.ID))
		c.mu.Unlock()
		if answer != nil { // else nobody waits for it any more
			answer <- m
		}
	case m.Method == "":
		c.refuse(nil, errorf(codeInvalidRequest, "A message has neither a method nor an id."))
	case m.Method == methodCancelRequest:
		c.takeBack(m.Params)
	default:
		if r, err := c.begin(ctx, m); err != nil {
			c.refuse(m.ID, err)
		} else {
			handle(r)
		}
	}
}

// begin notes a request, so that it can be taken back.
func (c *conn) begin(ctx context.Context, m *message) (*request, error) {
	r := &request{method: m.Method, params: m.Params, conn: c, id: m.ID}
	r.ctx, r.cancel = context.WithCancel(ctx)
	if r.id == nil {
		return r, nil
	}
	if first := r.id[0]; first != '"' && first != '-' && (first < '0' || first > '9') {
		m.ID = nil
		return nil, errorf(codeInvalidRequest, "The id of a request must be a string or a number.")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, twice := c.running[string(r.id)]; twice {
		return nil, errorf(codeInvalidRequest, "The id %s is already used by a request that has not been answered yet.", r.id)
	}
	if len(c.running) >= maxRequests {
		return nil, errorf(codeInternal, "%d requests have not been answered yet; send this one again later.", maxRequests)
	}
	c.running[string(r.id)] = r
	return r, nil
}

// takeBack ends a request that the client does not want answered any more.
func (c *conn) takeBack(params json.RawMessage) {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	c.mu.Lock()
	r := c.running[string(p.ID)]
	c.mu.Unlock()
	if r != nil {
		r.cancel()
	}
}

// refuse answers what is no request.
func (c *conn) refuse(id json.RawMessage, err error) {
	if id == nil {
		id = json.RawMessage("null")
	}
	_ = c.write(&message{ID: id, Error: errorOf(err)})
}

var errTooLong = errors.New("the line is too long")

// line returns the next line without space around it. Of a line that is too long
// nothing is kept.
func (c *conn) line() ([]byte, error) {
	var all []byte
	for long := false; ; {
		part, err := c.in.ReadSlice('\n')
		if long = long || len(all)+len(part) > maxLine; !long {
			all = append(all, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err != nil:
			return nil, err // a line without an end was not said
		case long:
			return nil, errTooLong
		}
		return bytes.TrimSpace(all), nil
	}
}

// notify tells the client something.
func (c *conn) notify(method string, params any) error {
	raw, err := plainjson.Marshal(params)
	if err != nil {
		return err
	}
	return c.write(&message{Method: method, Params: raw})
}

// call asks the client something and waits for its answer. If ctx ends first, the
// question is taken back.
func (c *conn) call(ctx context.Context, method string, params, result any) error {
	raw, err := plainjson.Marshal(params)
	if err != nil {
		return err
	}
	answer := make(chan *message, 1)
	c.mu.Lock()
	c.last++
	id := strconv.FormatInt(c.last, 10)
	c.asked[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.asked, id)
		c.mu.Unlock()
	}()
	if err := c.write(&message{ID: json.RawMessage(id), Method: method, Params: raw}); err != nil {
		return err
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return m.Error
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("the client's answer to %s cannot be read: %w", method, err)
		}
		return nil
	case <-ctx.Done():
		_ = c.notify(methodCancelRequest, map[string]json.RawMessage{"requestId": json.RawMessage(id)})
		return ctx.Err()
	case <-c.gone:
		return errGone
	}
}

var errGone = errors.New("the client is gone")

// write writes a message after those before it. A client that reads slowly is waited
// for until the connection is closed.
func (c *conn) write(m *message) error {
	m.Version = "2.0"
	raw, err := plainjson.Marshal(m)
	if err != nil {
		return err
	}
	select {
	case c.turn <- struct{}{}:
	case <-c.gone:
		return errGone
	}
	done := make(chan error, 1)
	go func() {
		_, err := c.out.Write(append(raw, '\n'))
		<-c.turn
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			c.close()
		}
		return err
	case <-c.gone:
		return errGone
	}
}

// close lets everybody go who waits for the client.
func (c *conn) close() { c.once.Do(func() { close(c.gone) }) }

// misread says what is wrong with JSON, without the names of our types.
func misread(err error) string {
	wrong := (*json.UnmarshalTypeError)(nil)
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	if wrong.Field == "" {
		return "it must not be " + article(wrong.Value)
	}
	return wrong.Field + " must not be " + article(wrong.Value)
}

func article(kind string) string {
	if kind == "array" || kind == "object" {
		return "an " + kind
	}
	return "a " + kind
}

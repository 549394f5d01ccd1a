package lsp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A writer is one end of a pipe.
type writer interface {
	io.WriteCloser
	SetWriteDeadline(time.Time) error
}

// A conn exchanges messages with a server.
type conn struct {
	w       writer
	handle  func(method string, params json.RawMessage) (answer any, err error)
	outbox  chan []byte
	closed  chan struct{} // closed when nothing more is exchanged
	patient time.Duration // that one message may take to be written

	mu      sync.Mutex
	next    int64
	pending map[int64]chan response
	err     error // why it is closed
}

type response struct {
	result json.RawMessage
	err    error
}

// A message is a request, an answer or a notification.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *refusal        `json:"error,omitempty"`
}

// A refusal is a server's refusal of a request.
type refusal struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
}

func (e *refusal) Error() string { return fmt.Sprintf("%.500s (code %d)", e.Message, e.Code) }

const (
	codeMethodNotFound  = -32601
	codeContentModified = -32801
)

// maxOutbox is how many messages wait for a server that does not read.
const maxOutbox = 256

// newConn exchanges messages until an end of it is closed. handle is asked about what
// comes from the server, one message after another; its answer is sent to a request.
func newConn(w writer, r io.Reader, patient time.Duration, handle func(string, json.RawMessage) (any, error)) *conn {
	c := &conn{
		w: w, handle: handle, patient: patient, outbox: make(chan []byte, maxOutbox), closed: make(chan struct{}),
		pending: make(map[int64]chan response),
	}
	go c.writeAll()
	go c.readAll(r)
	return c
}

func (c *conn) writeAll() {
	for {
		select {
		case <-c.closed:
			return
		case text := <-c.outbox:
			_ = c.w.SetWriteDeadline(time.Now().Add(c.patient))
			if _, err := c.w.Write(text); err != nil { // half a message may be out: nothing can follow it
				c.close(fmt.Errorf("could not write to it: %w", err))
				return
			}
		}
	}
}

func (c *conn) readAll(r io.Reader) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	for {
		body, err := readFrame(buffered)
		if err == nil {
			err = c.take(body)
		}
		if err != nil {
			c.close(err)
			return
		}
	}
}

// take takes in one message. An error is one that ends the connection.
func (c *conn) take(body []byte) error {
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		return fmt.Errorf("%w: it sent a message that is not JSON-RPC: %.80q", errProtocol, body)
	}
	if m.Method == "" {
		c.answered(m)
		return nil
	}
	answer, err := c.handle(m.Method, m.Params)
	if len(m.ID) == 0 {
		return nil
	}
	reply := message{Version: "2.0", ID: m.ID}
	if err != nil {
		reply.Error = &refusal{Code: codeMethodNotFound, Message: err.Error()}
	} else if reply.Result, err = json.Marshal(answer); err != nil {
		return err
	}
	return c.send(reply)
}

// answered hands an answer to whoever waits for it. Nobody waits for one that comes
// too late, or that was never asked for.
func (c *conn) answered(m message) {
	id, err := strconv.ParseInt(string(m.ID), 10, 64)
	if err != nil {
		return
	}
	c.mu.Lock()
	wait := c.pending[id]
	delete(c.pending, id)
	c.mu.Unlock()
	if wait == nil {
		return
	}
	r := response{result: m.Result}
	if m.Error != nil {
		r.err = m.Error
	}
	wait <- r
}

// send queues a message. A server that does not read is not waited for.
func (c *conn) send(m message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	select {
	case <-c.closed:
		return c.reason()
	default:
	}
	select {
	case c.outbox <- frame(body):
		return nil
	default:
		err := fmt.Errorf("%w: it does not read its input", errProtocol)
		c.close(err)
		return err
	}
}

// notify sends what needs no answer.
func (c *conn) notify(method string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return c.send(message{Version: "2.0", Method: method, Params: raw})
}

// call sends a request and reads the answer into result, which may be nil.
func (c *conn) call(ctx context.Context, method string, params, result any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	wait := make(chan response, 1)
	c.mu.Lock()
	c.next++
	id := c.next
	c.pending[id] = wait
	c.mu.Unlock()
	if err := c.send(message{Version: "2.0", ID: strconv.AppendInt(nil, id, 10), Method: method, Params: raw}); err != nil {
		return err
	}
	select {
	case r := <-wait:
		if r.err != nil || result == nil || len(r.result) == 0 {
			return r.err
		}
		if err := json.Unmarshal(r.result, result); err != nil {
			return fmt.Errorf("%w: its answer to %s cannot be read: %w", errProtocol, method, err)
		}
		return nil
	case <-c.closed:
		return c.reason()
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.pending, id)
		c.mu.Unlock()
		_ = c.notify("$/cancelRequest", map[string]int64{"id": id})
		return ctx.Err()
	}
}

// close ends the exchange; the first reason counts.
func (c *conn) close(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	if errors.Is(why, io.EOF) || errors.Is(why, io.ErrUnexpectedEOF) {
		why = errEnded
	}
	c.err = why
	close(c.closed)
	_ = c.w.Close()
}

// errEnded says that the server closed its output.
var errEnded = errors.New("it exited")

func (c *conn) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Limits of what a server may send.
const (
	maxMessage = 32 << 20
	maxHeader  = 4 << 10 // of all header lines of a message together
)

// errProtocol is what a server that breaks the protocol is ended with.
var errProtocol = errors.New("it does not speak the language server protocol")

// readFrame reads the body of one message.
func readFrame(r *bufio.Reader) ([]byte, error) {
	length := int64(-1)
	for size := 0; ; {
		line, err := r.ReadSlice('\n')
		if size += len(line); size > maxHeader || errors.Is(err, bufio.ErrBufferFull) {
			return nil, fmt.Errorf("%w: it sent a header of more than %d bytes", errProtocol, maxHeader)
		}
		if err != nil {
			return nil, err
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" {
			break
		}
		name, value, ok := strings.Cut(text, ":")
		if !ok || !strings.HasPrefix(strings.ToLower(name), "content-") { // no other header exists
			return nil, fmt.Errorf("%w: it wrote %.80q", errProtocol, text)
		}
		if !strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			continue
		}
		if length, err = strconv.ParseInt(strings.TrimSpace(value), 10, 64); err != nil || length < 0 {
			return nil, fmt.Errorf("%w: it sent %.80q as the length of a message", errProtocol, value)
		}
	}
	switch {
	case length < 0:
		return nil, fmt.Errorf("%w: it sent a message without a length", errProtocol)
	case length > maxMessage:
		return nil, fmt.Errorf("it sent a message of %d bytes; the limit is %d", length, maxMessage)
	}
	// Memory grows with what comes, not with what was announced.
	var body bytes.Buffer
	if _, err := io.CopyN(&body, r, length); err != nil {
		return nil, fmt.Errorf("could not read its message: %w", err)
	}
	return body.Bytes(), nil
}

func frame(body []byte) []byte {
	return append(fmt.Appendf(make([]byte, 0, len(body)+32), "Content-Length: %d\r\n\r\n", len(body)), body...)
}

package haft

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"time"

	"github.com/haftdev/haft/wire"
)

// Send sends a prompt and returns its id. It does not wait for the turn. A
// prompt that is sent during a turn joins it, or is the next one.
func (c *Client) Send(prompt string) (id string, err error) {
	m := wire.Prompt(prompt)
	m.UUID = newUUID()
	return m.UUID, c.SendMessage(m)
}

// SendMessage sends a prompt with images, a priority, or an id of its own.
func (c *Client) SendMessage(m *User) error { return c.conn.Send(m) }

// CloseSend says that no more prompts come. The command line finishes what it
// was sent and ends; messages can be read up to that.
func (c *Client) CloseSend() error { return c.link.CloseWrite() }

// Messages yields what happens, from where the last loop over it stopped, until
// the session is over. An error is the last thing it yields.
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

// Turn sends a prompt and yields what happens up to the result, which is the
// last message. A session that ends before that is an error. Messages that
// nobody read before come first.
func (c *Client) Turn(prompt string) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		if _, err := c.Send(prompt); err != nil {
			yield(nil, err)
			return
		}
		for m, err := range c.Messages() {
			if !yield(m, err) || err != nil {
				return
			}
			if _, last := m.(*Result); last {
				return
			}
		}
		yield(nil, errUnfinished)
	}
}

// Close ends the session and waits until nothing is left of it, running callbacks
// included; so a callback must not call it. It may be called more than once.
func (c *Client) Close() error {
	c.cancel(errClosed)
	<-c.done
	return nil
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

// closeIfOver closes the input of a query when its run is over: at the result,
// or where callbacks may still be wanted, when the session is idle after it.
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
		if c.opts.Elicit == nil {
			return &ElicitationReply{Action: "decline"}, nil
		}
		return c.opts.Elicit(ctx, r)
	}
	return nil, wire.Unsupported(r)
}

func (c *Client) serveMCP(ctx context.Context, r *wire.MCPMessage) (any, error) {
	c.mu.Lock()
	server, ok := c.servers[r.ServerName].(*ToolServer)
	c.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("SDK MCP server not found: %s", r.ServerName)
	}
	return server.serve(ctx, r.ServerName, r.Message)
}

// waitOrClose waits for the other side to end by itself, and ends it if it has
// said its last message and does not.
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

// newUUID returns a random UUID, version 4.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

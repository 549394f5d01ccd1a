package haft

import (
	"crypto/rand"
	"fmt"
	"iter"
	"slices"

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

// Turn sends a prompt and yields what happens up to its result, which is the
// last message. A session that ends before that is an error. What is left of
// earlier turns, which nobody read, comes first.
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

// answers reports whether a result is that of a prompt. Where a result does not
// say whose it is, it is everybody's.
func answers(r *Result, id string) bool {
	if r.UserMessageUUID == "" && len(r.UserMessageUUIDs) == 0 {
		return true
	}
	return r.UserMessageUUID == id || slices.Contains(r.UserMessageUUIDs, id)
}

// Close ends the session and waits until nothing is left of it, running callbacks
// included; so a callback must not call it. It may be called more than once.
func (c *Client) Close() error {
	c.cancel(errClosed)
	<-c.done
	return nil
}

// newUUID returns a random UUID, version 4.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

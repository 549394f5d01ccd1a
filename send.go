package haft

import (
	"crypto/rand"
	"fmt"
	"iter"
	"slices"

	"github.com/haftdev/haft/wire"
)

// Send sends a prompt and returns its id. It does not wait for the turn. A prompt that is
// sent during a turn joins it, or starts the next one.
func (c *Client) Send(prompt string) (id string, err error) {
	m := wire.Prompt(prompt)
	m.UUID = newUUID()
	return m.UUID, c.SendMessage(m)
}

// SendMessage sends a prompt with images, a priority or its own id.
func (c *Client) SendMessage(m *User) error { return c.conn.Send(m) }

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

// answers reports whether a result belongs to a prompt. A result that does not name its
// prompt belongs to any.
func answers(r *Result, id string) bool {
	if r.UserMessageUUID == "" && len(r.UserMessageUUIDs) == 0 {
		return true
	}
	return r.UserMessageUUID == id || slices.Contains(r.UserMessageUUIDs, id)
}

// Close ends the session and waits until nothing of it is left, including running
// callbacks, so a callback must not call Close. It may be called more than once.
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

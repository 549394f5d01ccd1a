package headless

import (
	"fmt"
	"io"
	"sync"

	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/wire"
)

// early holds what is sent before the first init. Programs expect the first message of a
// conversation to be its init.
type early struct {
	send func(wire.Message)
	log  io.Writer

	mu   sync.Mutex
	over bool
	held []wire.Message
}

// put sends something, after the first init or, if there is none, before the result. What a
// user should know is in the log at once.
func (e *early) put(m wire.Message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.over && waits(m) {
		e.held = append(e.held, m)
		if notice, ok := m.(*wire.Informational); ok {
			fmt.Fprintf(e.log, "haft: %s\n", visible.Indented(notice.Content))
		}
		return
	}
	_, begins := m.(*wire.Init)
	if _, ends := m.(*wire.Result); ends {
		e.release()
	}
	e.send(m)
	if begins {
		e.release()
	}
}

// waits reports whether a message must come after the first init: everything that the
// program did not ask for.
func waits(m wire.Message) bool {
	switch m.(type) {
	case *wire.Informational, *wire.Notification, *wire.HookStarted, *wire.HookResponse:
		return true
	}
	return false
}

// release sends what is waiting. The lock is held.
func (e *early) release() {
	e.over = true
	for _, m := range e.held {
		e.send(m)
	}
	e.held = nil
}

package headless

import (
	"fmt"
	"sync"

	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/wire"
)

// early holds what is sent before the first init. Programs expect the first message of a
// conversation to be its init.
type early struct {
	mu   sync.Mutex
	over bool
	held []wire.Message
}

// send sends the program something, after the first init or, if there is none, before the
// result. What a user should know is on standard error at once.
func (s *server) send(m wire.Message) {
	s.early.mu.Lock()
	defer s.early.mu.Unlock()
	if !s.early.over && waits(m) {
		s.early.held = append(s.early.held, m)
		if notice, ok := m.(*wire.Informational); ok && !s.opts.OneAnswer { // a caller that wants one answer learns it from its watcher
			fmt.Fprintf(s.opts.Log, "haft: %s\n", visible.Indented(notice.Content))
		}
		return
	}
	_, begins := m.(*wire.Init)
	if _, ends := m.(*wire.Result); ends {
		s.releaseEarly()
	}
	_ = s.conn.Send(m) // the outlet ends the session if it breaks
	if begins {
		s.releaseEarly()
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

// releaseEarly sends what is waiting. The lock is held.
func (s *server) releaseEarly() {
	s.early.over = true
	for _, m := range s.early.held {
		_ = s.conn.Send(m)
	}
	s.early.held = nil
}

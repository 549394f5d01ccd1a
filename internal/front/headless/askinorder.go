package headless

import (
	"context"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/wire"
)

// ask asks the program something after it has been sent everything that happened before, so
// that it has seen the call that it decides about.
func (s *server) ask(ctx context.Context, r wire.Request, reply any) error {
	s.catchUp(ctx)
	return s.conn.Call(ctx, r, reply)
}

// catchUp waits until everything that has happened so far was sent.
func (s *server) catchUp(ctx context.Context) {
	s.mu.Lock()
	talk, running := s.talk, s.running
	s.mu.Unlock()
	if talk == nil || !running {
		return
	}
	s.settle(ctx, talk)
}

// settle waits until everything that has happened so far was sent, whether a turn runs or
// not.
func (s *server) settle(ctx context.Context, talk *harness.Conversation) { talk.CatchUp(ctx, s.wake) }

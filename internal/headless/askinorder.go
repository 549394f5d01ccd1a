package headless

import (
	"context"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/wire"
)

// ask asks the program something, after it was told all that happened before: who
// decides about a call has seen it.
func (s *server) ask(ctx context.Context, r wire.Request, reply any) error {
	s.catchUp(ctx)
	return s.conn.Call(ctx, r, reply)
}

// catchUp waits until what has happened so far is told.
func (s *server) catchUp(ctx context.Context) {
	s.mu.Lock()
	talk, running := s.talk, s.running
	s.mu.Unlock()
	if talk == nil || !running {
		return
	}
	s.settle(ctx, talk)
}

// settle waits until what has happened so far is told, whether a turn runs or not.
func (s *server) settle(ctx context.Context, talk *harness.Conversation) { talk.CatchUp(ctx, s.wake) }

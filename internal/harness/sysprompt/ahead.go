package sysprompt

import (
	"context"
	"time"

	"github.com/haftdev/haft/internal/world/workspace/worktree"
)

// repositoryTime is how long the first request may wait for git.
const repositoryTime = 500 * time.Millisecond

// aheadAge is how old what was found ahead may be: the user may have changed something since.
const aheadAge = time.Second

// Ahead is what the model is told about the repository of a folder, looked up while the rest of the conversation is opened.
// A nil Ahead holds nothing.
type Ahead struct {
	dir   string
	found chan string // is empty once it was used
	began time.Time
	stop  context.CancelFunc
	ended chan struct{} // is closed when git has ended
}

// LookAhead begins to look at the repository of a folder. Stop must be called at the end.
func LookAhead(dir string) *Ahead { return lookAhead(dir, repositoryTime) }

func lookAhead(dir string, limit time.Duration) *Ahead {
	ctx, stop := context.WithTimeout(context.Background(), limit)
	a := &Ahead{dir: dir, found: make(chan string, 1), began: time.Now(), stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(a.ended)
		defer stop()
		a.found <- worktree.State(ctx, dir)
		close(a.found)
	}()
	return a
}

// stopTime is how long Stop waits for a git that was killed.
const stopTime = 2 * time.Second

// Stop ends what still runs, and waits until it has ended: a process that exits first leaves git running.
func (a *Ahead) Stop() {
	if a == nil {
		return
	}
	a.stop()
	select {
	case <-a.ended:
	case <-time.After(stopTime):
	}
}

// take returns what was found in a folder, once.
func (a *Ahead) take(ctx context.Context, dir string) (state string, ok bool) {
	if a == nil || a.dir != dir || time.Since(a.began) > aheadAge {
		return "", false
	}
	select {
	case state, ok = <-a.found:
		return state, ok
	case <-ctx.Done():
		return "", true
	}
}

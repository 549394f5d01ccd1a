package sysprompt

import (
	"context"
	"time"

	"github.com/haftdev/haft/internal/workspace/worktree"
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
}

// LookAhead begins to look at the repository of a folder. Stop must be called at the end.
func LookAhead(dir string) *Ahead {
	ctx, stop := context.WithTimeout(context.Background(), repositoryTime)
	a := &Ahead{dir: dir, found: make(chan string, 1), began: time.Now(), stop: stop}
	go func() {
		defer stop()
		a.found <- worktree.State(ctx, dir)
		close(a.found)
	}()
	return a
}

// Stop ends what still runs.
func (a *Ahead) Stop() {
	if a != nil {
		a.stop()
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

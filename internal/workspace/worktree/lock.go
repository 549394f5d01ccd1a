package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// lockFile is in the folder that all trees of a repository share.
const lockFile = "haft-worktrees.lock"

// lock waits for its turn to touch the list of trees. While git makes a tree, the
// list has half of it, and every other git that reads the list fails. A repository
// that cannot be written has nobody to wait for.
func (r *Repo) lock(ctx context.Context) (unlock func(), err error) {
	l := flock.New(filepath.Join(r.common, lockFile))
	_, err = l.TryLockContext(ctx, 5*time.Millisecond)
	switch {
	case err == nil:
		return func() { _ = l.Close() }, nil // closing cannot leave it locked
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return func() {}, nil
	}
	return nil, fmt.Errorf("could not wait for other changes to the worktrees: %w", err)
}

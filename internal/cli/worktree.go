package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/haftdev/haft/internal/workspace/worktree"
)

// unnamed is the value of --worktree without a name.
const unnamed = "."

// enterWorktree moves the process into a git worktree, for --worktree: a new one, or the
// one of that name. It stays when haft ends.
func (f *converseFlags) enterWorktree(ctx context.Context) error {
	if f.worktree == "" {
		return nil
	}
	name := f.worktree
	if name == unnamed {
		name = "haft-" + time.Now().Format("20060102-150405")
	}
	if err := worktree.CheckName(name); err != nil {
		return usageError{fmt.Errorf("--worktree: %w", err)}
	}
	repo, err := worktree.Open(ctx, ".")
	if err != nil {
		return usageError{fmt.Errorf("--worktree: %w", err)}
	}
	tree, err := findOrAdd(ctx, repo, name)
	if err != nil {
		return fmt.Errorf("--worktree: %w", err)
	}
	if err := os.Chdir(tree.Path); err != nil {
		return fmt.Errorf("--worktree: %w", err)
	}
	fmt.Fprintf(f.Err, "haft: working in %s on branch %s; remove it with 'git worktree remove'\n", tree.Path, tree.Branch)
	return nil
}

func findOrAdd(ctx context.Context, repo *worktree.Repo, name string) (*worktree.Tree, error) {
	path := repo.Path(name)
	if _, err := os.Lstat(path); err == nil {
		return repo.Find(ctx, path)
	}
	return repo.Add(ctx, name)
}

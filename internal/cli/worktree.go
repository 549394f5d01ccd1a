package cli

import (
	"context"
	"os"

	"github.com/haftdev/haft/internal/world/workspace/worktree"
)

func findOrAdd(ctx context.Context, repo *worktree.Repo, name string) (*worktree.Tree, error) {
	path := repo.Path(name)
	if _, err := os.Lstat(path); err == nil {
		return repo.Find(ctx, path)
	}
	return repo.Add(ctx, name)
}

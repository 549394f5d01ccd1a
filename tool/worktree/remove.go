package worktree

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/plural"
	"github.com/haftdev/haft/internal/workspace/worktree"
	"github.com/haftdev/haft/tool"
)

// maxShown is how many files and commits an error names.
const maxShown = 10

// remove removes the worktree, or says what keeps it.
func (s *stay) remove(ctx context.Context, discard bool, out *ExitOutput) error {
	// The agent may be on another branch than the one it began on.
	repo, err := worktree.Open(ctx, s.tree.Path)
	if err == nil {
		s.tree, err = repo.Find(ctx, s.tree.Path)
	}
	var gone worktree.Removed
	if err == nil {
		gone, err = s.tree.Remove(ctx, &worktree.RemoveOptions{Discard: discard})
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, worktree.ErrWork):
		return s.refusal(ctx)
	case err != nil:
		return tool.Errorf("Could not remove the worktree %s: %w. To leave it, use the action keep.", out.Path, err)
	}
	out.KeptBranch, out.Saved = gone.KeptBranch, gone.Saved
	return nil
}

// refusal says what is in the worktree and nowhere else.
func (s *stay) refusal(ctx context.Context) error {
	var b strings.Builder
	fmt.Fprintf(&b, "The worktree %s was not removed because it contains work that exists nowhere else:\n", s.tree.Path)
	loss, err := s.tree.Loss(ctx)
	if err != nil {
		fmt.Fprintf(&b, "(could not list it: %v)\n", err)
	}
	show(&b, "uncommitted change", loss.Files)
	show(&b, "commit", loss.Commits)
	b.WriteString("Commit and merge that work, leave the worktree with the action keep, or ask the user whether to discard it with discard_changes.")
	return tool.Errorf("%s", b.String())
}

func show(b *strings.Builder, what string, lines []string) {
	for i, line := range lines {
		if i == maxShown {
			fmt.Fprintf(b, "- and %s\n", plural.Of(len(lines)-i, "more "+what))
			return
		}
		fmt.Fprintf(b, "- %s: %s\n", what, strings.TrimSpace(line))
	}
}

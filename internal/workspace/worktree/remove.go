package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Loss is what is in a tree and nowhere else.
type Loss struct {
	Files   []string // changed or new and not committed, as git status shows them
	Commits []string // that no other branch, tag or remote has: hash and subject
}

// Empty reports whether nothing would be lost.
func (l Loss) Empty() bool { return len(l.Files) == 0 && len(l.Commits) == 0 }

// Loss returns what would be lost with the tree. Files that git ignores do not count.
func (t *Tree) Loss(ctx context.Context) (Loss, error) {
	status, err := git(ctx, t.Path, nil, "status", "--porcelain", "--untracked-files=all")
	if err != nil {
		return Loss{}, fmt.Errorf("could not look for uncommitted changes: %w", err)
	}
	args := []string{"log", "--format=%h %s", "HEAD", "--not"}
	if t.Branch != "" {
		args = append(args, "--exclude="+t.Branch) // of the --branches that follow
	}
	log, err := git(ctx, t.Path, nil, append(args, "--branches", "--tags", "--remotes", "--")...)
	if err != nil {
		return Loss{}, fmt.Errorf("could not look for commits: %w", err)
	}
	return Loss{Files: lines(status), Commits: lines(log)}, nil
}

// RemoveOptions say how a tree is removed. Nil means all zero values.
type RemoveOptions struct {
	// Discard throws away what is only in the tree, after it was kept under a
	// reference.
	Discard bool
}

// Removed is what became of a tree.
type Removed struct {
	KeptBranch string // a branch that was kept for its commits; "" if it is gone
	Saved      string // the reference under which discarded work is kept; "" if there was none
}

// ErrWork says that a tree was not removed for the work in it.
var ErrWork = errors.New("the worktree contains work that is nowhere else")

// Remove removes the tree. Without Discard one with uncommitted changes stays
// ([ErrWork]), and commits that are nowhere else keep their branch.
func (t *Tree) Remove(ctx context.Context, opts *RemoveOptions) (Removed, error) {
	head, err := git(ctx, t.Path, nil, "rev-parse", "--verify", "HEAD")
	if err != nil {
		return Removed{}, err
	}
	loss, err := t.Loss(ctx)
	if err != nil {
		return Removed{}, err
	}
	var gone Removed
	discard := opts != nil && opts.Discard
	switch {
	case loss.Empty():
	case discard:
		if gone.Saved, err = t.save(ctx); err != nil {
			return Removed{}, fmt.Errorf("could not save the discarded work: %w", err)
		}
	case len(loss.Files) > 0 || t.Branch == "":
		return Removed{}, ErrWork
	default:
		gone.KeptBranch = t.Branch
	}
	unlock, err := t.repo.lock(ctx)
	if err != nil {
		return Removed{}, err
	}
	defer unlock()
	args := []string{"worktree", "remove"}
	if discard {
		args = append(args, "--force")
	}
	// Without --force git looks again, at the moment of removal.
	if _, err := git(ctx, t.repo.Root, nil, append(args, "--", t.Path)...); err != nil {
		return Removed{}, err
	}
	if t.Branch != "" && gone.KeptBranch == "" {
		// Only as it was looked at: someone may have committed to it since.
		if _, err := git(ctx, t.repo.Root, nil, "update-ref", "-d", "refs/heads/"+t.Branch, firstLine(head)); err != nil {
			gone.KeptBranch = t.Branch
		}
	}
	return gone, nil
}

// save commits everything in the tree, by plumbing that changes nothing in it, and
// keeps the commit under a reference that no branch shows.
func (t *Tree) save(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp("", "haft-worktree-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(dir, "index")}
	who := []string{"GIT_AUTHOR_NAME=haft", "GIT_AUTHOR_EMAIL=haft@localhost", "GIT_COMMITTER_NAME=haft", "GIT_COMMITTER_EMAIL=haft@localhost"}
	if _, err := git(ctx, t.Path, index, "read-tree", "HEAD"); err != nil {
		return "", err
	}
	if _, err := git(ctx, t.Path, index, "add", "--all"); err != nil {
		return "", err
	}
	tree, err := git(ctx, t.Path, index, "write-tree")
	if err != nil {
		return "", err
	}
	commit, err := git(ctx, t.Path, who, "commit-tree", firstLine(tree), "-p", "HEAD", "-m", "Work discarded with the worktree "+filepath.Base(t.Path))
	if err != nil {
		return "", err
	}
	ref := fmt.Sprintf("refs/haft/discarded/%s-%d", filepath.Base(t.Path), time.Now().UnixNano())
	_, err = git(ctx, t.Path, nil, "update-ref", ref, firstLine(commit))
	return ref, err
}

func lines(s string) []string {
	s = strings.TrimRight(s, "\n")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

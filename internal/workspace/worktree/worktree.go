// Package worktree makes, finds and removes git worktrees, and never loses work.
//
//	repo, err := worktree.Open(ctx, dir)
//	tree, err := repo.Add(ctx, "fix-login")
//	loss, err := tree.Loss(ctx)
//	saved, err := tree.Remove(ctx, nil)
//
// A tree lies in the folder .worktrees of its repository, on a branch of its own,
// and git is told to ignore it there. What is only in a tree is its [Loss]: a tree
// with uncommitted changes is not removed unless that is asked for, commits that are
// nowhere else keep their branch, and even what is thrown away is kept under a
// reference first.
//
// Everything is safe for concurrent use, also by several processes: git itself trips
// over a worktree that another git is making, so what makes, lists and removes trees
// waits for its turn. There is nothing to close.
//
// Trust: git is run in a repository whose files may be hostile. Its hooks and file
// system monitor are switched off; filters that the user has set up for it run as
// they do for every git command. Names are checked before they become paths.
package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/workspace/guard"
)

// A Repo is a git repository, whichever of its trees it was opened from.
type Repo struct {
	Root   string // the main tree
	common string // what all trees share, usually Root/.git
}

// A Tree is one worktree.
type Tree struct {
	Path   string
	Branch string // "" if it is on none
	repo   *Repo
}

// folder is where trees are made, below the root of the repository.
const folder = guard.Worktrees

// ErrNoRepository says that a folder is not in a git repository with a commit.
var ErrNoRepository = errors.New("this needs a git repository with at least one commit")

// Open returns the repository that a folder is in.
func Open(ctx context.Context, dir string) (*Repo, error) {
	out, err := git(ctx, dir, nil, "rev-parse", "--path-format=absolute", "--git-common-dir", "--verify", "HEAD^{commit}")
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, errNoGit) {
			return nil, err
		}
		return nil, fmt.Errorf("%w (%s: %w)", ErrNoRepository, dir, err)
	}
	r := &Repo{common: firstLine(out)}
	trees, err := (&Repo{Root: dir, common: r.common}).Trees(ctx)
	if err != nil {
		return nil, err
	}
	if len(trees) == 0 {
		return nil, fmt.Errorf("%w (%s is a bare repository)", ErrNoRepository, dir)
	}
	r.Root = trees[0].Path // git lists the main tree first
	return r, nil
}

// CheckName says what is wrong with the name of a tree, which becomes part of a path
// and of a branch.
func CheckName(name string) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	switch {
	case name == "", len(name) > 64, strings.Trim(name, letters+"._-") != "", strings.TrimLeft(name[:1], letters) != "",
		strings.Contains(name, ".."), strings.HasSuffix(name, "."), strings.HasSuffix(name, ".lock"):
		return fmt.Errorf("%q is not a valid worktree name: use up to 64 letters, digits, dots, dashes and underscores, and start with a letter or digit", name)
	}
	return nil
}

// Path is where the tree of a name lies.
func (r *Repo) Path(name string) string { return filepath.Join(r.Root, folder, name) }

// Add makes a tree of what is committed now, on a new branch.
func (r *Repo) Add(ctx context.Context, name string) (*Tree, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	t := &Tree{Path: r.Path(name), Branch: "worktree-" + name, repo: r}
	if _, err := os.Lstat(t.Path); err == nil {
		return nil, fmt.Errorf("%s already exists", t.Path)
	}
	if _, err := git(ctx, r.Root, nil, "rev-parse", "--verify", "--quiet", "refs/heads/"+t.Branch); err == nil {
		return nil, fmt.Errorf("the branch %s already exists", t.Branch)
	}
	if err := r.ignoreFolder(); err != nil {
		return nil, fmt.Errorf("could not make git ignore %s: %w", folder, err)
	}
	if _, err := git(ctx, r.Root, nil, "worktree", "add", "--quiet", "-b", t.Branch, t.Path, "HEAD"); err != nil {
		return nil, err
	}
	return t, nil
}

// ignoreFolder tells git, on this machine only, that trees are not files of the
// repository.
func (r *Repo) ignoreFolder() error {
	const line = "/" + folder + "/"
	file := filepath.Join(r.common, "info", "exclude")
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for have := range strings.Lines(string(text)) {
		if strings.TrimSpace(have) == line {
			return nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	added := line + "\n"
	if len(text) > 0 && !strings.HasSuffix(string(text), "\n") {
		added = "\n" + added
	}
	_, err = f.WriteString(added)
	return errors.Join(err, f.Close())
}

// Trees returns all trees, the main one first. Those whose folder is gone are left out.
func (r *Repo) Trees(ctx context.Context) ([]*Tree, error) {
	unlock, err := r.lock(ctx)
	if err != nil {
		return nil, err
	}
	out, err := git(ctx, r.Root, nil, "worktree", "list", "--porcelain", "-z")
	unlock()
	if err != nil {
		return nil, fmt.Errorf("list worktrees: %w", err)
	}
	var trees []*Tree
	for record := range strings.SplitSeq(out, "\x00\x00") {
		t := &Tree{repo: r}
		for field := range strings.SplitSeq(record, "\x00") {
			key, value, _ := strings.Cut(field, " ")
			switch key {
			case "worktree":
				t.Path = value
			case "branch":
				t.Branch = strings.TrimPrefix(value, "refs/heads/")
			case "bare", "prunable":
				t.Path = ""
			}
		}
		if t.Path != "" {
			trees = append(trees, t)
		}
	}
	return trees, nil
}

// Find returns the tree at a path.
func (r *Repo) Find(ctx context.Context, path string) (*Tree, error) {
	trees, err := r.Trees(ctx)
	if err != nil {
		return nil, err
	}
	want, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	for _, t := range trees {
		if have, err := os.Stat(t.Path); err == nil && os.SameFile(want, have) {
			return t, nil
		}
	}
	return nil, fmt.Errorf("%s is not a worktree of %s", path, r.Root)
}

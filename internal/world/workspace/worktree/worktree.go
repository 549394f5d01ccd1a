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
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/haftdev/haft/internal/world/workspace/guard"
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

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
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
	if info, err := os.Lstat(filepath.Dir(t.Path)); err == nil && !info.IsDir() { // a committed link would have the tree elsewhere
		return nil, fmt.Errorf("%s is not a folder", filepath.Dir(t.Path))
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

package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Result makes a commit of what is stored: what is checked out, and a commit with what was not
// committed. It is the same each time for the same point.
func (w *Workspace) Result(ctx context.Context) (commit string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if commit, err = w.result(ctx); err != nil {
		return "", fmt.Errorf("could not commit the files: %w", explain(err, w.Dir))
	}
	return commit, nil
}

// Push pushes a result to a branch of the repository. Expected are the commits that may be there, of
// which "" means that there is no such branch.
func (w *Workspace) Push(ctx context.Context, branch, commit string, expected []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := CheckBranch(branch); err != nil {
		return err
	}
	g, ref := w.objects, "refs/heads/"+branch
	g.user = true
	now, err := g.text(ctx, "ls-remote", "--", w.Spec.Repository, ref)
	if err != nil {
		return fmt.Errorf("could not push the branch %s: %w", branch, err)
	}
	is, _, _ := strings.Cut(now, "\t")
	if is == commit {
		return nil
	}
	if !slices.Contains(expected, is) && is == "" {
		return refuse("could not push the branch %s: it was deleted from %s after the run had pushed it. Submit the prompt as a new run with another --push branch", branch, w.Spec.Repository)
	}
	if !slices.Contains(expected, is) {
		return refuse("could not push the branch %s: in %s it is at %s, a commit that the run did not push. Submit the prompt as a new run with another --push branch", branch, w.Spec.Repository, is)
	}
	_, err = g.run(ctx, nil, "push", "-q", "--no-verify", "--no-recurse-submodules", "--force-with-lease="+ref+":"+is, "--", w.Spec.Repository, commit+":"+ref)
	if err != nil {
		return fmt.Errorf("could not push the branch %s: %w", branch, err)
	}
	return nil
}

func (w *Workspace) result(ctx context.Context) (string, error) {
	if w.branches.state == nil {
		return "", errors.New("nothing was stored")
	}
	parent := w.checkedOut(w.branches.state)
	index := filepath.Join(w.root, "result-index")
	defer os.Remove(index)
	g := w.objects.on(w.work, "GIT_INDEX_FILE="+index, "GIT_LITERAL_PATHSPECS=1")
	if _, err := g.run(ctx, nil, "read-tree", parent); err != nil {
		return "", err
	}
	// What is gone comes first: a link may be where a folder was.
	for _, step := range []struct {
		only string
		do   []string
	}{
		{"--diff-filter=D", []string{"update-index", "--force-remove", "-z", "--stdin"}},
		{"--diff-filter=d", []string{"add", "-f", "--pathspec-from-file=-", "--pathspec-file-nul"}},
	} {
		paths, err := g.run(ctx, nil, "diff-tree", "-r", "-z", "--name-only", "--no-renames", step.only, parent, w.point.Tree)
		if err != nil {
			return "", err
		}
		// Of a file that is not stored, the commit that is checked out has what the run wants.
		paths = slices.Concat(slices.DeleteFunc(slices.Collect(bytes.SplitAfterSeq(paths, []byte{0})), func(path []byte) bool {
			return w.left[string(bytes.TrimSuffix(path, []byte{0}))]
		})...)
		if len(paths) == 0 {
			continue
		}
		if _, err := g.run(ctx, bytes.NewReader(paths), step.do...); err != nil {
			return "", err
		}
	}
	tree, err := g.text(ctx, "write-tree")
	if err != nil {
		return "", err
	}
	had, err := g.text(ctx, "rev-parse", parent+"^{tree}")
	if err != nil || had == tree {
		return parent, err
	}
	date, err := g.text(ctx, "log", "-1", "--format=%ct +0000", w.point.Commit)
	if err != nil {
		return "", err
	}
	g = g.on(w.work, "GIT_AUTHOR_NAME=haft", "GIT_AUTHOR_EMAIL=haft@localhost", "GIT_COMMITTER_NAME=haft", "GIT_COMMITTER_EMAIL=haft@localhost", "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
	return g.text(ctx, "commit-tree", "-p", parent, "-m", "Uncommitted changes of run "+w.Run, tree)
}

// Export makes a folder of its own of the workspace, a clone that needs nothing else. The
// workspace is gone then.
func (w *Workspace) Export(ctx context.Context, to string) error {
	folder := git{dir: filepath.Join(w.work, ".git")}
	if _, err := folder.run(ctx, nil, "repack", "-a", "-d", "-q"); err != nil {
		return fmt.Errorf("copy the commits: %w", err)
	}
	if err := os.Remove(filepath.Join(folder.dir, "objects", "info", "alternates")); err != nil {
		return fmt.Errorf("copy the commits: %w", err)
	}
	if err := os.Rename(w.work, to); err != nil {
		return fmt.Errorf("create the folder %s: %w", to, err)
	}
	return os.RemoveAll(w.root)
}

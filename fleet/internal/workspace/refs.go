package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// refs is what the folder's repository says about its branches.
type refs struct {
	head string // what HEAD says
	mark string // changes with anything
}

// maxRefs is how much of the files of refs is read.
const maxRefs = 16 << 20

// folderRefs reads the refs of the folder's repository, without git.
func (w *Workspace) folderRefs() (*refs, error) {
	root, err := os.OpenRoot(w.work)
	if err != nil {
		return nil, fmt.Errorf("open the folder of the run: %w", err)
	}
	defer root.Close()
	sum, left := sha256.New(), int64(maxRefs)
	read := func(name string) string {
		file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return ""
		}
		defer file.Close()
		if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
			return ""
		}
		raw, _ := io.ReadAll(io.LimitReader(file, left)) // one that cannot be read says nothing
		left -= int64(len(raw))
		fmt.Fprintf(sum, "%q %d\n", name, len(raw))
		sum.Write(raw)
		return string(raw)
	}
	r := &refs{head: strings.TrimSpace(read(".git/HEAD"))}
	read(".git/packed-refs")
	_ = fs.WalkDir(root.FS(), ".git/refs/heads", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			read(path.Clean(name))
		}
		return nil // what is not there is no branch
	})
	r.mark = hex.EncodeToString(sum.Sum(nil))
	return r, nil
}

// headsRef is where the branches of the folder are kept, detachedRef a commit that has none.
const (
	headsRef    = "refs/haft/heads/"
	detachedRef = "refs/haft/detached"
)

// takeRefs fetches the branches of the folder's repository. A repository that a command has broken
// keeps the files of the run from nobody: it returns why there are no branches.
func (w *Workspace) takeRefs(ctx context.Context, r *refs) (why string) {
	if err := w.checkRepository(); err != nil {
		return "commits cannot be stored: " + err.Error()
	}
	from := []string{"+refs/heads/*:" + headsRef + "*"}
	if isHash(r.head) {
		from = append(from, "+HEAD:"+detachedRef)
	}
	args := append([]string{"fetch", "-q", "--no-write-fetch-head", "--no-tags", "--no-auto-maintenance", "--no-recurse-submodules", "--prune", "--force", "--", w.work + "/.git"}, from...)
	if _, err := w.objects.run(ctx, nil, args...); err != nil {
		return "commits cannot be stored: " + err.Error()
	}
	return ""
}

// checkRepository refuses a repository that git would leave for another one, or that would keep git
// waiting: the links, the alternates and the pipes that a command may have made.
func (w *Workspace) checkRepository() error {
	root, err := os.OpenRoot(w.work)
	if err != nil {
		return err
	}
	defer root.Close()
	if info, err := root.Lstat(".git"); err != nil || !info.IsDir() {
		return errors.New(".git is not the run's repository")
	}
	for _, name := range []string{"commondir", "gitdir", "reftable", "objects/info/http-alternates"} {
		if _, err := root.Lstat(".git/" + name); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return fmt.Errorf(".git/%s points to another repository", name)
		}
	}
	for _, name := range []string{"HEAD", "packed-refs", "config", "config.worktree", "shallow", "objects/info/alternates"} {
		if info, err := root.Lstat(".git/" + name); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf(".git/%s is not a file", name)
		}
	}
	for _, name := range []string{"refs", "objects"} {
		if info, err := root.Lstat(".git/" + name); err == nil && !info.IsDir() {
			return fmt.Errorf(".git/%s is not a folder", name)
		}
		err := fs.WalkDir(root.FS(), ".git/"+name, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && !e.Type().IsRegular() {
				return fmt.Errorf("%s is neither a file nor a folder", path)
			}
			return nil // what cannot be read, git cannot read
		})
		if err != nil {
			return err
		}
	}
	alternates, err := root.ReadFile(".git/objects/info/alternates")
	if own := filepath.Join(mirrorPath(w.Dir, &w.Spec), "objects"); err == nil && strings.TrimSpace(string(alternates)) != own {
		return errors.New(".git/objects/info/alternates points to another repository")
	}
	return nil
}

// branches are those of the folder, as they were last fetched.
type branches struct {
	mark string // of the refs that they were read with; "" if they could not be fetched
	*state
	left  []leftOut        // that cannot be stored
	files map[string]entry // of the commit that is checked out
}

// readBranches reads what was fetched, unless it is what was read last.
func (w *Workspace) readBranches(ctx context.Context, r *refs, mark string) error {
	if w.branches.state != nil && mark != "" && w.branches.mark == mark {
		return nil
	}
	b := branches{mark: mark, state: &state{Head: r.head, Heads: map[string]string{}}}
	out, err := w.objects.text(ctx, "for-each-ref", "--format=%(objecttype) %(objectname) %(refname)", headsRef, detachedRef)
	if err != nil {
		return fmt.Errorf("read the branches: %w", err)
	}
	detached := false
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(f) != 3 {
			return fmt.Errorf("read the branches: unexpected output of git: %q", line)
		}
		branch, ok := strings.CutPrefix(f[2], headsRef)
		switch {
		case !ok:
			detached = detached || f[0] == "commit" && f[1] == b.Head
		case !validRef(branch):
			b.left = append(b.left, leftOut{".git", fmt.Sprintf("the branch %q has a name that cannot be stored", branch), true})
		case f[0] != "commit":
			b.left = append(b.left, leftOut{".git", fmt.Sprintf("the branch %q does not point to a commit", branch), true})
		default:
			b.Heads[branch] = f[1]
		}
	}
	if branch, ok := strings.CutPrefix(b.Head, "ref: refs/heads/"); ok && !validRef(branch) || !ok && !detached {
		b.Head = ""
	}
	if b.Head == "" && isHash(r.head) && mark != "" {
		b.left = append(b.left, leftOut{".git", "HEAD does not point to a commit", true})
	}
	commit := w.checkedOut(b.state)
	if b.files, err = w.readTree(ctx, commit); err != nil {
		return err
	}
	w.branches = b
	return nil
}

// checkedOut is the commit that the folder has checked out; the first one where it has none.
func (w *Workspace) checkedOut(s *state) string {
	if branch, ok := strings.CutPrefix(s.Head, "ref: refs/heads/"); ok && s.Heads[branch] != "" {
		return s.Heads[branch]
	}
	if isHash(s.Head) {
		return s.Head
	}
	return w.point.Base
}

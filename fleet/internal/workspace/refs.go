package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	if info, err := os.Lstat(filepath.Join(w.work, ".git")); err != nil || !info.IsDir() {
		return "it is not the repository of the run"
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

// state is what the branches are, as they were last fetched.
func (w *Workspace) state(ctx context.Context, r *refs) *state {
	s := &state{Head: r.head, Heads: map[string]string{}}
	out, _ := w.objects.text(ctx, "for-each-ref", "--format=%(objectname) %(refname)", headsRef, detachedRef) // without branches, files are stored alone
	for line := range strings.Lines(out) {
		hash, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if branch, ok := strings.CutPrefix(name, headsRef); ok {
			s.Heads[branch] = hash
		} else if isHash(s.Head) && name == detachedRef {
			s.Head = hash
		}
	}
	return s
}

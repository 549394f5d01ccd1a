package workspace

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/haftdev/haft/internal/text/secret"
)

// largest is how large a file may be that is stored.
func (w *Workspace) largest() int64 {
	if w.maxFile > 0 {
		return w.maxFile
	}
	return 64 << 20
}

// Modes that git has for files.
const (
	plainMode = "100644"
	execMode  = "100755"
	linkMode  = "120000"
	gitMode   = "160000" // a submodule
)

// An entry is a file in a tree of git.
type entry struct{ mode, object string }

// A seen file has the content of its entry as long as nothing of this changes.
type seen struct {
	size, mtime, ctime, read int64
	ino                      uint64
	mode                     fs.FileMode
}

// A change is a file that differs from the tree; one without a mode is gone.
type change struct {
	path, mode string
	content    []byte
	entry      entry
	seen       seen
	// committed says that the commit that is checked out has the content.
	committed bool
}

// leftOut is a file that is not stored. Lost says that there is something that no other place has.
type leftOut struct {
	path, why string
	lost      bool
}

const noSubmodules = "submodules are not fetched"

// scan calls each with the files that differ from the tree, and returns those that are not stored
// although git does not ignore them.
func (w *Workspace) scan(ctx context.Context, each func(*change) error) (left []leftOut, err error) {
	names, left, err := w.names(ctx)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(w.work)
	if err != nil {
		return nil, fmt.Errorf("open the folder of the run: %w", err)
	}
	defer root.Close()
	l := &looker{Workspace: w, root: root, secrets: secret.Where{Homes: w.homes, Roots: []string{w.work}}, folders: map[string]bool{".": true}}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, why, err := l.look(name)
		if err != nil {
			return nil, err
		}
		if why != "" {
			left = append(left, leftOut{name, why, why != noSubmodules})
		}
		if c == nil {
			continue
		}
		if err := each(c); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// names returns the files that are or were there, in order, without ignored ones. A file that is
// in the tree stays in sight even if it becomes ignored.
func (w *Workspace) names(ctx context.Context) (names []string, left []leftOut, err error) {
	g := w.objects.on(w.work, "GIT_INDEX_FILE="+filepath.Join(w.work, ".git", "index"))
	args := []string{"ls-files", "-z", "--cached", "--others", "--exclude-standard"}
	out, err := g.run(ctx, nil, args...)
	if err != nil { // what a command made of the index cannot be read: then nothing is staged
		g = w.objects.on(w.work, "GIT_INDEX_FILE="+filepath.Join(w.root, "no-index"))
		if out, err = g.run(ctx, nil, args...); err != nil {
			return nil, nil, fmt.Errorf("list the files: %w", err)
		}
	}
	for name := range bytes.SplitSeq(out, []byte{0}) {
		switch n := string(name); {
		case n == "":
		case strings.HasSuffix(n, "/"):
			left = append(left, leftOut{n, "it is a git repository itself", true})
		default:
			names = append(names, n)
		}
	}
	for name := range w.tree {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), left, nil
}

// A looker looks at files one after the other. It does not leave the folder, whatever links a
// command makes meanwhile.
type looker struct {
	*Workspace
	root    *os.Root
	secrets secret.Where
	folders map[string]bool // paths that are folders, not links to some
}

// look compares a file with its entry. Nil means that it is the same, or that it is not stored,
// and why.
func (l *looker) look(name string) (c *change, why string, err error) {
	old, known := l.tree[name]
	info, err := l.root.Lstat(filepath.FromSlash(name))
	gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	if !gone {
		is, err := l.folder(path.Dir(name))
		if gone = !is; err != nil {
			return nil, "it cannot be read", nil
		}
	}
	switch {
	case gone && (!known || old.mode == gitMode):
		return nil, "", nil
	case gone:
		return &change{path: name}, "", nil
	case !safeName(name):
		return nil, "its name cannot be stored", nil
	case err != nil:
		return nil, "it cannot be read", nil
	case info.IsDir() && (!known || old.mode == gitMode):
		if inside, err := fs.ReadDir(l.root.FS(), name); err == nil && len(inside) == 0 {
			return nil, noSubmodules, nil
		}
		return nil, "it is a submodule", nil
	case info.IsDir():
		return &change{path: name}, "", nil // what is in it has other names
	case info.Mode()&fs.ModeSymlink == 0 && !info.Mode().IsRegular():
		return nil, "it is neither a file nor a link", nil
	}
	now := seenAs(info)
	if s, ok := l.seen[name]; ok && s.same(now) {
		return nil, "", nil
	}
	c, why = l.read(name, info)
	if c == nil {
		return nil, why, nil
	}
	if known && c.entry == old {
		l.seen[name] = now
		return nil, "", nil
	}
	if c.committed = l.branches.files[name] == c.entry; c.committed {
		c.seen = now
		return c, "", nil
	}
	if c.content == nil {
		return nil, l.tooLarge(), nil
	}
	if l.secrets.Look(filepath.Join(l.work, filepath.FromSlash(name))).Level != secret.Open {
		return nil, "its name is that of a secret", nil
	}
	c.seen = now
	return c, "", nil
}

// folder reports whether a path and all above it are folders: what a link leads to has another
// name. A folder that cannot be looked at may still be there.
func (l *looker) folder(dir string) (bool, error) {
	if is, known := l.folders[dir]; known {
		return is, nil
	}
	above, err := l.folder(path.Dir(dir))
	if err != nil || !above {
		return above, err
	}
	info, err := l.root.Lstat(filepath.FromSlash(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return false, err
	}
	l.folders[dir] = err == nil && info.IsDir()
	return l.folders[dir], nil
}

func (l *looker) read(name string, info fs.FileInfo) (c *change, why string) {
	c = &change{path: name, mode: plainMode}
	local := filepath.FromSlash(name)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := l.root.Readlink(local)
		if err != nil {
			return nil, "it changed while it was read"
		}
		c.mode, c.content = linkMode, []byte(to)
	case info.Size() > l.largest() && l.tree[name].mode == "" && l.branches.files[name].mode == "":
		return nil, l.tooLarge()
	default:
		if info.Mode()&0o111 != 0 {
			c.mode = execMode
		}
		file, err := l.root.OpenFile(local, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
		if err != nil {
			return nil, "it cannot be read"
		}
		defer file.Close()
		if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
			return nil, "it changed while it was read"
		}
		if info.Size() > l.largest() { // its content stays where it is
			object, err := l.objectOf(info.Size(), file)
			if err != nil {
				return nil, "it changed while it was read"
			}
			c.entry = entry{c.mode, object}
			return c, ""
		}
		if c.content, err = io.ReadAll(io.LimitReader(file, l.largest()+1)); err != nil || int64(len(c.content)) > l.largest() {
			return nil, "it cannot be read"
		}
	}
	object, err := l.objectOf(int64(len(c.content)), bytes.NewReader(c.content))
	if err != nil {
		return nil, "it changed while it was read"
	}
	c.entry = entry{c.mode, object}
	return c, ""
}

func (w *Workspace) tooLarge() string { return fmt.Sprintf("it is larger than %d MB", w.largest()>>20) }

// objectOf is the name that git gives to a content.
func (w *Workspace) objectOf(size int64, content io.Reader) (string, error) {
	var h hash.Hash = sha1.New()
	if len(w.point.Base) == 64 {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", size)
	if n, err := io.Copy(h, io.LimitReader(content, size+1)); err != nil || n != size {
		return "", errors.Join(err, errChanged)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func seenAs(info fs.FileInfo) seen {
	s := seen{size: info.Size(), mtime: info.ModTime().UnixNano(), mode: info.Mode(), read: time.Now().UnixNano()}
	s.ctime, s.ino = changeTime(info)
	return s
}

// same reports whether nothing about a file has changed since. One that was changed in the instant
// in which it was read might have been changed again without a trace.
func (s seen) same(now seen) bool {
	const instant = int64(50 * time.Millisecond)
	return s.ctime != 0 && s.size == now.size && s.mtime == now.mtime && s.ctime == now.ctime && s.ino == now.ino && s.mode == now.mode &&
		s.read-max(s.mtime, s.ctime) > instant
}

// readTree returns the files of a commit.
func (w *Workspace) readTree(ctx context.Context, commit string) (map[string]entry, error) {
	out, err := w.objects.run(ctx, nil, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return nil, fmt.Errorf("read the files of the commit %s: %w", commit, err)
	}
	tree := map[string]entry{}
	for line := range bytes.SplitSeq(out, []byte{0}) {
		head, name, ok := strings.Cut(string(line), "\t")
		if f := strings.Fields(head); ok && len(f) == 3 {
			tree[name] = entry{f[0], f[2]}
		}
	}
	return tree, nil
}

package workspace

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
	"time"

	"github.com/haftdev/haft/internal/text/secret"
)

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

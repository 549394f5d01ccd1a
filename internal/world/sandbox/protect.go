package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A Snapshot records which protected paths did not exist before a command ran:
// nothing can be mounted over them, and a placeholder would be visible in the
// project.
type Snapshot struct {
	missing []missingPath
	folders map[string]Stamp // where something may appear
}

// A missingPath is a protected path and the deepest folder above it that exists.
type missingPath struct {
	dir  string // exists
	rest string // does not, below dir
}

// Holds reports whether the same paths are missing now.
func (s *Snapshot) Holds() bool {
	for dir, stamp := range s.folders {
		if !stamp.Holds(dir) {
			return false
		}
	}
	return true
}

// A Taken is something that a command created at a protected path, and where it was moved.
type Taken struct {
	Path string // the protected path, or the symbolic link that led to it
	Kept string // where it is now
}

// TakeBack moves whatever has appeared at protected paths into a new folder in the
// temporary directory. It deletes nothing, because another program may have created it.
func (s *Snapshot) TakeBack() ([]Taken, error) {
	var taken []Taken
	var failed []error
	held := map[string]bool{}
	for dir, stamp := range s.folders {
		held[dir] = stamp.Holds(dir)
	}
	for _, m := range s.missing {
		if held[m.dir] {
			continue
		}
		name, found := m.appeared()
		if !found {
			continue
		}
		t, err := m.take(name)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		taken = append(taken, t)
	}
	return taken, errors.Join(failed...)
}

// appeared finds what is now at the protected path, or the link on the way.
func (m missingPath) appeared() (name string, found bool) {
	parts := strings.Split(m.rest, string(filepath.Separator))
	for i, part := range parts {
		name = filepath.Join(name, part)
		info, err := os.Lstat(filepath.Join(m.dir, name))
		switch {
		case err != nil:
			return "", false
		case i == len(parts)-1, info.Mode()&fs.ModeSymlink != 0:
			return name, true
		case !info.IsDir():
			return "", false
		}
	}
	return "", false
}

func (m missingPath) take(name string) (Taken, error) {
	path := filepath.Join(m.dir, name)
	keep, err := os.MkdirTemp("", "haft-taken-") // which no other user can have made before
	if err != nil {
		return Taken{}, err
	}
	kept := filepath.Join(keep, filepath.Base(name))
	if err := os.Rename(path, kept); err == nil {
		return Taken{Path: path, Kept: kept}, nil
	}
	if err := copyAway(m.dir, name, kept); err != nil {
		return Taken{}, err
	}
	root, err := os.OpenRoot(m.dir) // not through links that are planted meanwhile
	if err != nil {
		return Taken{}, err
	}
	defer root.Close()
	return Taken{Path: path, Kept: kept}, root.RemoveAll(name)
}

// copyAway copies a file, a link or a folder to another file system.
func copyAway(dir, name, to string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Lstat(name)
	switch {
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		return errors.Join(err, os.WriteFile(to, []byte("symbolic link to "+target+"\n"), 0o600))
	case info.Mode().IsRegular():
		data, err := root.ReadFile(name)
		return errors.Join(err, os.WriteFile(to, data, 0o600))
	case info.IsDir():
		sub, err := root.OpenRoot(name)
		if err != nil {
			return err
		}
		defer sub.Close()
		return os.CopyFS(to, sub.FS())
	}
	return nil // a socket or a pipe has nothing to keep
}

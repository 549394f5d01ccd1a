package shell

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/sys/pathin"
)

// dirs are the directories that the shell may be in. A cd can fail, so after
// "cd x; " both are possible. An element is "" for the unknown start,
// relative to that start if nothing better is known, or lost.
type dirs []string

// lost stands for a directory that cannot be known.
const lost = "\x00"

// maxDirs bounds the set: beyond it the shell is lost.
const maxDirs = 8

func (d dirs) union(e dirs) dirs {
	out := slices.Clone(d)
	for _, dir := range e {
		if !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	if len(out) > maxDirs {
		return dirs{lost}
	}
	return out
}

// holds reports whether every directory of e is one of d.
func (d dirs) holds(e dirs) bool {
	return !slices.ContainsFunc(e, func(dir string) bool { return !slices.Contains(d, dir) })
}

// join returns where path leads from dir.
func join(dir, path string) string {
	switch {
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	case dir == lost:
		return lost
	}
	return filepath.Join(dir, path)
}

// inside reports whether dir is one of the roots or below one.
func (a *analyzer) inside(dir string) bool {
	if dir == lost {
		return false
	}
	if !filepath.IsAbs(dir) {
		return dir != ".." && !strings.HasPrefix(dir, "../")
	}
	return slices.ContainsFunc(a.opts.Roots, func(root string) bool { return pathin.Contains(root, dir) })
}

// moved reports whether the shell may have left the directory it started in.
func (a *analyzer) moved() bool {
	return slices.ContainsFunc(a.dirs, func(dir string) bool { return dir != a.opts.Cwd && dir != "." })
}

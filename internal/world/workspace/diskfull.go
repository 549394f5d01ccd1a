package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/haftdev/haft/internal/world/workspace/atomic"
)

// explain adds to a full disk where the space under the project went, unless it is a directory of our own that is full.
func (w *Workspace) explain(err error, path string) error {
	var space *atomic.SpaceError
	switch {
	case errors.As(err, &space) && space.Store != "":
		return &fullError{Space: space}
	case errors.As(err, &space):
		return &fullError{Space: space, Largest: w.largest(5, 2*time.Second)}
	case errors.Is(err, atomic.ErrChanged):
		return refuse(Stale, "%s changed while it was being written. Nothing was written. Read it again, then send a new call.", path)
	}
	return err
}

// cannotKeep explains why what a write would replace could not be kept.
func (w *Workspace) cannotKeep(err error, path string, need int) error {
	quota := errors.Is(err, syscall.EDQUOT)
	if !quota && !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	free, _ := w.fs.Space(w.state)
	return w.explain(&atomic.SpaceError{Path: path, Store: w.state, Need: uint64(need), Free: free, Quota: quota, Err: err}, path)
}

// fullError reports a full disk and the directories that take up most of it.
type fullError struct {
	Space   *atomic.SpaceError
	Largest []usage
}

// usage is the disk space that the files under a directory take up.
type usage struct {
	Dir   string
	Bytes int64
}

func (e *fullError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Could not write the file: %v. The file is unchanged.", e.Space)
	if len(e.Largest) > 0 {
		b.WriteString(" The largest directories under the project:")
	}
	for _, u := range e.Largest {
		fmt.Fprintf(&b, "\n%12d bytes  %s", u.Bytes, u.Dir)
	}
	return b.String()
}

func (e *fullError) Unwrap() error { return e.Space }

// largest finds the n largest directories of the project's first two levels, as far as it gets in the given time.
func (w *Workspace) largest(n int, within time.Duration) []usage {
	root := w.Root()
	sums := map[string]int64{}
	deadline := time.Now().Add(within)
	w.walkSizes(root, deadline, func(path string, size int64) {
		rel, _ := filepath.Rel(root, path)
		parts := strings.Split(rel, string(filepath.Separator))
		for depth := 1; depth <= min(2, len(parts)-1); depth++ {
			sums[filepath.Join(root, filepath.Join(parts[:depth]...))] += size
		}
	})
	var out []usage
	for dir, bytes := range sums {
		if parent := sums[filepath.Dir(dir)]; parent > 0 && bytes*10 < parent*9 {
			continue // a part of something larger that is shown
		}
		out = append(out, usage{dir, bytes})
	}
	// A directory that one child fills says less than the child.
	all := slices.Clone(out)
	out = slices.DeleteFunc(out, func(u usage) bool {
		return slices.ContainsFunc(all, func(v usage) bool { return filepath.Dir(v.Dir) == u.Dir })
	})
	slices.SortFunc(out, func(a, b usage) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), strings.Compare(a.Dir, b.Dir)) })
	return out[:min(n, len(out))]
}

func (w *Workspace) walkSizes(dir string, deadline time.Time, add func(path string, size int64)) {
	entries, err := w.fs.ReadDir(dir)
	if err != nil || time.Now().After(deadline) {
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			w.walkSizes(path, deadline, add)
		case e.Type()&fs.ModeType == 0:
			if info, err := e.Info(); err == nil {
				add(path, info.Size())
			}
		}
	}
}

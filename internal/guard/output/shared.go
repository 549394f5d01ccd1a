package output

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// A Quota limits what stores that share a folder leave there. A nil *Quota means all zero
// values.
type Quota struct {
	// Keep is how long results stay; 0 means 30 days.
	Keep time.Duration
	// Total is how many bytes they may take together; beyond it, the oldest are removed
	// first. 0 means 1 GB.
	Total int64
	// Fresh is how long results are kept regardless of their size: a session may still be
	// reading them. 0 means a day.
	Fresh time.Duration
}

// NewShared returns a store in the folder name below root, in which every process has its
// own folder. When it stores its first result, old files of others are removed.
func NewShared(root, name string, quota *Quota) *Store {
	var q Quota
	if quota != nil {
		q = *quota
	}
	q.Keep = cmp.Or(q.Keep, 30*24*time.Hour)
	q.Total = cmp.Or(q.Total, 1<<30)
	q.Fresh = cmp.Or(q.Fresh, 24*time.Hour)
	return &Store{dir: filepath.Join(root, name), sweep: sync.OnceFunc(func() { q.sweep(root, name) })}
}

// A leftover is the folder of one store.
type leftover struct {
	path string
	size int64
	last time.Time // when something was last written to it
}

// sweep removes folders that are too old, and the oldest of the rest while they take too
// much. What cannot be removed stays: another process may be using it.
func (q Quota) sweep(root, own string) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return // there is nothing yet
	}
	var found []leftover
	var total int64
	for _, e := range entries {
		if e.IsDir() && e.Name() != own {
			l := look(filepath.Join(root, e.Name()))
			found, total = append(found, l), total+l.size
		}
	}
	slices.SortFunc(found, func(a, b leftover) int { return a.last.Compare(b.last) })
	for _, l := range found {
		age := time.Since(l.last)
		if age > q.Keep || total > q.Total && age > q.Fresh {
			if os.RemoveAll(l.path) == nil {
				total -= l.size
			}
		}
	}
}

// look returns how large a folder is and when it was last used.
func look(path string) leftover {
	l := leftover{path: path}
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it is gone, or not ours
		}
		if info, err := e.Info(); err == nil {
			if info.Mode().IsRegular() {
				l.size += info.Size()
			}
			if info.ModTime().After(l.last) {
				l.last = info.ModTime()
			}
		}
		return nil
	})
	return l
}

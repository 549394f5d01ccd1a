package permission

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/haftdev/haft/internal/world/search/tree"
	"github.com/haftdev/haft/internal/world/search/watch"
)

// A lookout tells whether what was found in folders may be different now. It watches them, which
// costs next to nothing however many they are; those that cannot be watched it compares by time.
type lookout struct {
	watch    tree.Watcher // nil if nothing can be watched
	dirs     map[int32]string
	times    map[string]time.Time // of folders that are not watched
	began    time.Time
	patterns []rulePattern
}

func newLookout() *lookout {
	l := &lookout{dirs: map[int32]string{}, times: map[string]time.Time{}, began: time.Now()}
	if w, err := watch.New(); err == nil {
		l.watch = w
		runtime.AddCleanup(l, func(w tree.Watcher) { w.Close() }, w)
	}
	return l
}

func (l *lookout) close() {
	if l != nil && l.watch != nil {
		l.watch.Close()
	}
}

// look notes a folder that is about to be read.
func (l *lookout) look(dir string) {
	if l.watch != nil {
		if id, err := l.watch.Add(dir); err == nil {
			l.dirs[id] = dir
			return
		}
	}
	l.times[dir] = folderTime(dir)
}

// clockStep is longer than the clock of any file system takes for a step.
const clockStep = 50 * time.Millisecond

// unchanged reports whether nothing has happened since that a rule may be about. Found are the
// paths that were found.
func (l *lookout) unchanged(found []string) bool {
	for dir, at := range l.times {
		if !at.IsZero() && l.began.Sub(at) < clockStep || !folderTime(dir).Equal(at) {
			return false
		}
	}
	if l.watch == nil {
		return true
	}
	changed := false
	lost := l.watch.Drain(func(e tree.Event) {
		changed = changed || e.Gone || e.Entries && l.matters(filepath.Join(l.dirs[e.Dir], e.Name), found)
	})
	return !lost && !changed
}

// matters reports whether a file that has appeared or gone may be one that rules are about, or
// lead to one.
func (l *lookout) matters(path string, found []string) bool {
	if _, r := firstMatch([]string{path}, l.patterns); r != nil || slices.Contains(found, path) {
		return true
	}
	info, err := os.Lstat(path)
	if err != nil {
		return false // of a folder that is gone, the watch ends
	}
	_, names, ok := namesOf(info)
	return info.IsDir() || info.Mode()&fs.ModeSymlink != 0 || !ok || names > 1
}

// folderTime is when files of a folder were last added or removed; zero if there is none.
func folderTime(dir string) time.Time {
	info, err := os.Stat(dir)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

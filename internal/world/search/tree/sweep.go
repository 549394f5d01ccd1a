package tree

import (
	"time"

	"github.com/haftdev/haft/internal/world/search/ignore"
	"github.com/haftdev/haft/internal/world/search/rawfs"
)

// tick is how far apart two changes must be for every kernel to give them
// different times.
const tick = 20 * time.Millisecond

// sweepRules compares the rule files of d alone.
func (t *Tree) sweepRules(c *changes, d *Dir) {
	if d.marks == 0 {
		return
	}
	for _, f := range d.files {
		if ignore.MarkOf(f.Name()) != 0 && (f.changed() || f.Unsteady) {
			c.rules[d] = true
		}
	}
}

func (t *Tree) sweepDir(c *changes, d *Dir) {
	st, err := rawfs.Lstat(trimSlash(d.Path))
	if err != nil || st != d.stat || d.unsettled {
		c.dirs[d] = true
		if d.parent != nil {
			c.dirs[d.parent] = true
		}
	}
}

// recent says of what was looked at, no earlier than at, that a change since might
// have left its times as they are.
func recent(st rawfs.Stat, at time.Time) bool {
	return at.UnixNano()-max(st.Mtime, st.Ctime) < int64(tick)
}

// settle marks a version that may change within a tick of the clock, when nobody
// announces changes.
func (t *Tree) settle(f *File, at time.Time) {
	if t.watcher == nil && recent(rawfs.Stat{Mtime: f.Mtime, Ctime: f.Ctime}, at) {
		f.Unsteady = true
	}
}

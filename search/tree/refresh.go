package tree

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/search/ignore"
	"github.com/haftdev/haft/search/rawfs"
)

// A Watcher announces changes in directories. Every change that was complete
// before Drain is called must be among what Drain reports.
type Watcher interface {
	// Add watches the directory and gives a number that is its alone.
	Add(dir string) (wd int32, err error)
	Remove(wd int32)
	// Drain reports what happened since the last call. lost means that some of it
	// is unknown.
	Drain(report func(Event)) (lost bool)
	Close()
}

// Event is one change.
type Event struct {
	Dir     int32  // the number Add gave
	Name    string // of the entry, valid during the call; empty for the directory itself
	Content bool   // the entry's content or attributes changed
	Entries bool   // an entry came, went or was replaced
	Gone    bool   // the directory itself was moved or is no longer watched
}

// tick is how far apart two changes must be for every kernel to give them
// different times.
const tick = 20 * time.Millisecond

// source is a file outside the tree that decides what is in it.
type source struct {
	path string
	stat rawfs.Stat // zero if absent
}

func (t *Tree) loadRules() {
	base, paths := ignore.Root(t.Root, t.opts.Global)
	t.base, t.sources = base, nil
	for _, p := range paths {
		t.sources = append(t.sources, newSource(p))
	}
}

// newSource notes the state of a rule file, which must come before it is read.
func newSource(path string) source {
	st, _ := rawfs.StatPath(path)
	return source{path, st}
}

func (t *Tree) sourcesChanged() bool {
	for _, s := range t.sources {
		st, _ := rawfs.StatPath(s.path)
		if s.stat.Kind == rawfs.Directory && st.Kind == rawfs.Directory {
			continue // a repository's directory: that it is there is all that counts
		}
		if st != s.stat {
			return true
		}
	}
	return false
}

// changes is what a refresh has to look at again.
type changes struct {
	dirs  map[*Dir]bool            // relist
	rules map[*Dir]bool            // forget everything below and walk again
	files map[*Dir]map[string]bool // by name
}

// Refresh brings the part of the tree at scope, an absolute path, up to date with
// the disk as it was when Refresh was called. It reports whether scope is a
// directory of the tree; if not, nothing is known about it.
func (t *Tree) Refresh(ctx context.Context, scope string) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.root == nil {
		return false, nil
	}
	c := changes{map[*Dir]bool{}, map[*Dir]bool{}, map[*Dir]map[string]bool{}}
	known := !t.sourcesChanged() && t.gather(&c, scope) && !c.rules[t.root]
	var err error
	if known {
		err = t.apply(ctx, &c)
	} else {
		err = t.rebuild(ctx)
	}
	return err == nil && t.find(scope) != nil, err
}

// gather collects what changed; it reports false if that cannot be known.
func (t *Tree) gather(c *changes, scope string) bool {
	if t.watcher == nil {
		if d := t.find(scope); d != nil {
			t.sweep(c, d)
			for p := d.parent; p != nil; p = p.parent {
				t.sweepDir(c, p)
				t.sweepRules(c, p)
			}
		}
		return true
	}
	for f := range t.unsteady {
		if f.changed() {
			c.file(f.Dir, f.Name())
			if ignore.MarkOf(f.Name()) != 0 {
				c.rules[f.Dir] = true
			}
		}
	}
	return !t.watcher.Drain(func(e Event) { t.note(c, e) })
}

// note turns an event into work.
func (t *Tree) note(c *changes, e Event) {
	d := t.byWatch[e.Dir]
	if d == nil {
		return
	}
	switch {
	case e.Gone && d.parent == nil:
		c.rules[d] = true
	case e.Gone:
		c.dirs[d.parent] = true
		d.replaced = true
	case e.Name == "":
		c.dirs[d] = true
	case ignore.MarkOf(e.Name) != 0:
		c.rules[d] = true
	case e.Entries:
		c.dirs[d] = true
		// A directory that came back under its old name is another one.
		if i := d.subNamed(e.Name); i >= 0 {
			d.subs[i].replaced = true
		}
		c.file(d, e.Name)
	case e.Content:
		c.file(d, e.Name)
	}
}

func (c *changes) file(d *Dir, name string) {
	if c.files[d] == nil {
		c.files[d] = map[string]bool{}
	}
	c.files[d][strings.Clone(name)] = true
}

func (d *Dir) subNamed(name string) int {
	return slices.IndexFunc(d.subs, func(s *Dir) bool { return s.name() == name })
}

// sweep compares d and all below it with the disk.
func (t *Tree) sweep(c *changes, d *Dir) {
	t.sweepDir(c, d)
	t.sweepRules(c, d)
	for _, f := range d.files {
		if f.changed() || f.Unsteady {
			c.file(d, f.Name())
		}
	}
	for _, s := range d.subs {
		t.sweep(c, s)
	}
}

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

func (f *File) changed() bool {
	st, err := rawfs.Lstat(f.Path)
	return err != nil || st.Kind != rawfs.Regular || !f.same(st)
}

func (t *Tree) sweepDir(c *changes, d *Dir) {
	st, err := rawfs.Lstat(trimSlash(d.Path))
	if err != nil || st != d.stat || recent(st) {
		c.dirs[d] = true
		if d.parent != nil {
			c.dirs[d.parent] = true
		}
	}
}

// recent says that the next change might leave the times as they are.
func recent(st rawfs.Stat) bool {
	return time.Now().UnixNano()-max(st.Mtime, st.Ctime) < int64(tick)
}

func (f *File) same(st rawfs.Stat) bool {
	return f.Mtime == st.Mtime && f.Ctime == st.Ctime && f.Size == st.Size && f.ino == st.Ino
}

// apply does the work. Directories are dropped before any is added, so that one
// that moved within the tree is not mistaken for one mounted twice.
func (t *Tree) apply(ctx context.Context, c *changes) error {
	var walk []*Dir
	for d := range c.dirs {
		if t.attached(d) && !c.rules[d] {
			walk = append(walk, t.relist(d, c)...)
		}
	}
	for d := range c.rules {
		if t.attached(d) {
			t.drop(d)
			d.subs, d.files = nil, nil
			t.dirs--
			walk = append(walk, d)
		}
	}
	for d, names := range c.files {
		if t.attached(d) && !c.dirs[d] && !c.rules[d] {
			for name := range names {
				t.restat(d, name)
			}
		}
	}
	walk = slices.DeleteFunc(walk, func(d *Dir) bool {
		return !t.attached(d) || d.parent != nil && slices.Contains(walk, d.parent)
	})
	return t.walk(ctx, walk)
}

// attached reports whether d is still part of the tree.
func (t *Tree) attached(d *Dir) bool {
	for d.parent != nil {
		if !slices.Contains(d.parent.subs, d) {
			return false
		}
		d = d.parent
	}
	return d == t.root
}

// relist reads d again, keeping what did not change, and gives the directories
// that are new.
func (t *Tree) relist(d *Dir, c *changes) (fresh []*Dir) {
	var w workspace
	l, err := w.readEntries(d, true)
	if err != nil {
		t.drop(d)
		d.subs, d.files, d.unreadable = nil, nil, true
		d.skipped = Skipped{Unreadable: 1}
		return nil
	}
	if l.marks != d.marks || d.unreadable || rulesChanged(d, l) {
		c.rules[d] = true
		return nil
	}
	old := make(map[string]*File, len(d.files))
	for _, f := range d.files {
		old[f.Path] = f
	}
	oldSubs := d.subs
	d.stat = l.stat
	t.fill(d, l)
	for i, f := range d.files {
		prev := old[f.Path]
		st := rawfs.Stat{Mtime: f.Mtime, Ctime: f.Ctime, Size: f.Size, Ino: f.ino}
		if prev != nil && !prev.Unsteady && prev.same(st) && !c.files[d][f.Name()] {
			d.files[i] = prev
			delete(old, f.Path)
			continue
		}
		t.settle(f)
		t.enter(f)
	}
	for _, f := range old {
		t.bury(f)
	}
	return t.keepSubs(d, oldSubs)
}

// rulesChanged reports whether a rule file of d is another than before.
func rulesChanged(d *Dir, l listing) bool {
	if d.marks == 0 {
		return false
	}
	for _, f := range d.files {
		if ignore.MarkOf(f.Name()) == 0 {
			continue
		}
		i := slices.IndexFunc(l.entries, func(e entry) bool { return e.path == f.Path })
		if i < 0 || l.entries[i].kind != rawfs.Regular || !f.same(l.entries[i].stat) {
			return true
		}
	}
	return false
}

// keepSubs puts the directories back that d had before and still has.
func (t *Tree) keepSubs(d *Dir, old []*Dir) (fresh []*Dir) {
	byPath := make(map[string]*Dir, len(old))
	for _, s := range old {
		byPath[s.Path] = s
	}
	for i, s := range d.subs {
		prev := byPath[s.Path]
		if prev != nil && !prev.replaced {
			st, err := rawfs.Lstat(trimSlash(s.Path))
			if err == nil && st.Ino == prev.stat.Ino && st.Dev == prev.stat.Dev {
				d.subs[i] = prev
				delete(byPath, s.Path)
				continue
			}
		}
		fresh = append(fresh, s)
	}
	for _, s := range byPath {
		t.forget(s)
	}
	return fresh
}

// restat replaces the version of one file.
func (t *Tree) restat(d *Dir, name string) {
	i := slices.IndexFunc(d.files, func(f *File) bool { return f.Name() == name })
	if i < 0 {
		return // of a kind that is not listed, or ignored with its directory
	}
	old := d.files[i]
	st, err := rawfs.Lstat(old.Path)
	if err != nil || st.Kind != rawfs.Regular {
		d.files = slices.Delete(slices.Clone(d.files), i, i+1)
		t.bury(old)
		return
	}
	f := newFile(d, &entry{path: old.Path, stat: st})
	t.settle(&f)
	d.files[i] = &f
	t.bury(old)
	t.enter(&f)
}

// settle marks a version that may change within a tick of the clock, when nobody
// announces changes.
func (t *Tree) settle(f *File) {
	if t.watcher == nil && recent(rawfs.Stat{Mtime: f.Mtime, Ctime: f.Ctime}) {
		f.Unsteady = true
	}
}

func (t *Tree) bury(f *File) {
	f.dead = true
	t.removed = true
	delete(t.unsteady, f)
	if t.opts.Dropped != nil {
		t.opts.Dropped(f)
	}
	t.count--
}

// forget drops d and its watch.
func (t *Tree) forget(d *Dir) {
	t.drop(d)
	t.dirs--
	if t.watcher != nil && d.wd >= 0 && t.byWatch[d.wd] == d {
		t.watcher.Remove(d.wd)
		delete(t.byWatch, d.wd)
	}
}

// drop buries everything below d.
func (t *Tree) drop(d *Dir) {
	for _, f := range d.files {
		t.bury(f)
	}
	for _, s := range d.subs {
		t.forget(s)
	}
}

// Global loads the user's ignore rules from the environment of this process.
func Global() ignore.Global { return ignore.LoadGlobal(os.Getenv) }

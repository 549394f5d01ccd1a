package tree

import (
	"context"
	"slices"
	"time"

	"github.com/haftdev/haft/internal/world/search/ignore"
	"github.com/haftdev/haft/internal/world/search/rawfs"
)

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
	d.stat, d.unsettled = l.stat, recent(l.stat, l.began)
	t.fill(d, l)
	for i, f := range d.files {
		prev := old[f.Path]
		st := rawfs.Stat{Mtime: f.Mtime, Ctime: f.Ctime, Size: f.Size, Ino: f.ino}
		if prev != nil && !prev.Unsteady && prev.same(st) && !c.files[d][f.Name()] {
			d.files[i] = prev
			delete(old, f.Path)
			continue
		}
		t.settle(f, l.began)
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
	old, at := d.files[i], time.Now()
	st, err := rawfs.Lstat(old.Path)
	if err != nil || st.Kind != rawfs.Regular {
		d.files = slices.Delete(slices.Clone(d.files), i, i+1)
		t.bury(old)
		return
	}
	f := newFile(d, &entry{path: old.Path, stat: st})
	t.settle(&f, at)
	d.files[i] = &f
	t.bury(old)
	t.enter(&f)
}

func (t *Tree) bury(f *File) {
	f.gone.Store(true)
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

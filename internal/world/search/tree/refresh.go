package tree

import (
	"context"
	"encoding/binary"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/world/search/ignore"
	"github.com/haftdev/haft/internal/world/search/rawfs"
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

// source is a file outside the tree that decides what is in it.
type source struct {
	path      string
	stat      rawfs.Stat // zero if absent
	unsettled bool       // stat was so new that a clock tick could hide a change
}

// sum identifies a source and its state. One that was so new that a clock tick could
// hide a change never has the same sum again.
func (s *source) sum() []byte {
	b := append([]byte(s.path), 0)
	if s.stat.Kind == rawfs.Directory {
		return append(b, "dir"...) // that it is there is all that counts
	}
	st := s.stat
	words := []uint64{uint64(st.Mtime), uint64(st.Ctime), uint64(st.Size), st.Ino, st.Dev, uint64(st.Kind), 0}
	if s.unsettled {
		words[6] = uint64(time.Now().UnixNano())
	}
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// newSource notes the state of a rule file, which must come before it is read.
func newSource(path string) source {
	at := time.Now()
	st, _ := rawfs.StatPath(path)
	return source{path, st, recent(st, at)}
}

func (t *Tree) sourcesChanged() bool {
	for _, s := range t.sources {
		st, _ := rawfs.StatPath(s.path)
		if s.stat.Kind == rawfs.Directory && st.Kind == rawfs.Directory {
			continue // a repository's directory: that it is there is all that counts
		}
		if st != s.stat || s.unsettled {
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

// View brings the part of the tree at scope, an absolute path, up to date with the
// disk as it was when View was called, and gives its files as [Tree.Files] does. ok
// reports whether scope is a directory of the tree; if not, nothing is known about
// it. After an error the tree is empty: half an update is worth nothing.
func (t *Tree) View(ctx context.Context, scope string) (files []*File, ok bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.root == nil {
		return nil, false, nil
	}
	if err := t.refresh(ctx, scope); err != nil {
		t.empty()
		return nil, false, err
	}
	if t.find(scope) == nil {
		return nil, false, nil
	}
	return t.files(scope), true, nil
}

func (t *Tree) refresh(ctx context.Context, scope string) error {
	c := changes{map[*Dir]bool{}, map[*Dir]bool{}, map[*Dir]map[string]bool{}}
	known := !t.sourcesChanged() && t.gather(&c, scope) && !c.rules[t.root]
	if known {
		return t.apply(ctx, &c)
	}
	return t.rebuild(ctx)
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

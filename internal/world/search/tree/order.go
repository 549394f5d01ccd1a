package tree

import (
	"cmp"
	"slices"
	"strings"
	"unsafe"
)

// Files gives the files at and below scope as they were when last looked at, newest
// first and by path where times agree. A tree without Stat gives them in no order. The slice is not
// to be changed.
func (t *Tree) Files(scope string) []*File {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.files(scope)
}

func (t *Tree) files(scope string) []*File {
	d := t.find(scope)
	switch {
	case d == nil:
		return nil
	case d != t.root:
		files := collect(nil, d)
		if t.opts.Stat {
			slices.SortFunc(files, NewestFirst)
		}
		return files
	case !t.opts.Stat:
		return t.added
	}
	t.arrange()
	return t.order
}

func collect(files []*File, d *Dir) []*File {
	files = append(files, d.files...)
	for _, s := range d.subs {
		files = collect(files, s)
	}
	return files
}

// NewestFirst compares files by time and, where times agree, by path.
func NewestFirst(a, b *File) int {
	if c := cmp.Compare(b.Mtime, a.Mtime); c != 0 {
		return c
	}
	return strings.Compare(a.Path, b.Path)
}

// arrange brings order up to date. Readers keep the old slice, so a new one is
// made, by merging: sorting everything after every edit would cost more than most
// queries.
func (t *Tree) arrange() {
	if len(t.added) == 0 && !t.removed {
		return
	}
	fresh := slices.DeleteFunc(t.added, func(f *File) bool { return f.Gone() })
	slices.SortFunc(fresh, NewestFirst)
	merged := make([]*File, 0, t.count)
	for _, f := range t.order {
		if f.Gone() {
			continue
		}
		for len(fresh) > 0 && NewestFirst(fresh[0], f) < 0 {
			merged = append(merged, fresh[0])
			fresh = fresh[1:]
		}
		merged = append(merged, f)
	}
	t.order = append(merged, fresh...)
	t.added, t.removed = nil, false
}

// Skipped counts what the walk passed over at and below scope.
func (t *Tree) Skipped(scope string) Skipped {
	t.mu.Lock()
	defer t.mu.Unlock()
	var s Skipped
	if d := t.find(scope); d != nil {
		addSkipped(&s, d)
	}
	return s
}

// Passed counts as Skipped does, and also what was passed over in the directories on the
// way from the one at from to scope, which may be why that is not in the tree.
func (t *Tree) Passed(from, scope string) Skipped {
	t.mu.Lock()
	defer t.mu.Unlock()
	var s Skipped
	scope = withSlash(scope)
	for d := t.find(from); d != nil; {
		if d.Path == scope {
			addSkipped(&s, d)
			break
		}
		s.add(d.skipped)
		i := slices.IndexFunc(d.subs, func(sub *Dir) bool { return strings.HasPrefix(scope, sub.Path) })
		if i < 0 {
			break
		}
		d = d.subs[i]
	}
	return s
}

func addSkipped(s *Skipped, d *Dir) {
	s.add(d.skipped)
	for _, sub := range d.subs {
		addSkipped(s, sub)
	}
}

// LastID is the highest ID given so far: it grows by one with every new version.
func (t *Tree) LastID() uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.nextID
}

// Memory estimates what the list takes, in bytes.
func (t *Tree) Memory() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.root == nil {
		return 0
	}
	n := int64(len(t.order)+len(t.added)) * int64(unsafe.Sizeof((*File)(nil)))
	return n + memory(t.root)
}

func memory(d *Dir) int64 {
	n := int64(unsafe.Sizeof(*d)) + int64(len(d.Path)) + int64(len(d.files)+len(d.subs))*8
	for _, f := range d.files {
		n += int64(unsafe.Sizeof(*f)) + int64(len(f.Path))
	}
	for _, s := range d.subs {
		n += memory(s)
	}
	return n
}

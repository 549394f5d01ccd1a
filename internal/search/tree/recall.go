package tree

import (
	"encoding/binary"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/haftdev/haft/internal/search/ignore"
	"github.com/haftdev/haft/internal/search/index"
	"github.com/haftdev/haft/internal/search/rawfs"
)

// recalled gives the record of d.
func (t *Tree) recalled(d *Dir) (savedDir, bool) {
	if t.opts.Saved == nil || d.saved == 0 {
		return nil, false
	}
	return t.opts.Saved.dir(int(d.saved) - 1), true
}

// recallRoot matches the root with its record.
func (t *Tree) recallRoot() {
	if s := t.opts.Saved; s != nil {
		t.root.saved, t.sameAbove = 1, t.rulesAbove() == s.rules
		if t.opts.Stat {
			t.ranked = make([]*File, len(s.files)/fileSize)
		}
	}
}

// recallSub matches a directory that was listed with its record.
func (t *Tree) recallSub(parent, d *Dir) {
	if rec, ok := t.recalled(parent); ok {
		d.saved = int32(1 + t.opts.Saved.findSub(rec, d.name()))
	}
}

// sameRules reports whether what decides in d and above which files are ignored is what
// it was when the list was saved. The directory's marks are known.
func (t *Tree) sameRules(d *Dir, rec savedDir) bool {
	same := t.sameAbove
	if d.parent != nil {
		same = d.parent.sameRules
	}
	if !same || d.marks != rec.marks() || d.linkedRules {
		return false
	}
	if d.marks == 0 {
		return true
	}
	for _, name := range []string{".gitignore", ".ignore", ".rgignore"} {
		if d.marks&ignore.MarkOf(name) == 0 {
			continue
		}
		i := t.opts.Saved.findFile(rec, name)
		if i < 0 {
			return false
		}
		at := time.Now()
		if st, err := rawfs.Lstat(d.Path + name); err != nil || st.Kind != rawfs.Regular || !t.opts.Saved.file(i).same(&st) || recent(st, at) {
			return false
		}
	}
	return excludeSum(d) == rec.exclude()
}

// listSaved lists d as it was saved, if the disk proves that current.
func (t *Tree) listSaved(d *Dir, w *workspace) bool {
	rec, ok := t.recalled(d)
	if !ok || !rec.trusted() {
		return false
	}
	began := time.Now()
	st, err := rawfs.Lstat(trimSlash(d.Path))
	if err != nil || st != rec.stat() || recent(st, began) {
		return false
	}
	d.marks = rec.marks()
	if !t.sameRules(d, rec) {
		return false
	}
	files, ok := t.listFiles(d, rec, w, began)
	if !ok {
		return false
	}
	d.stat, d.sameRules, d.rules = st, true, t.rulesFor(d)
	if t.opts.Stat && d.marks&ignore.HasGit != 0 {
		d.sources = append(d.sources, newSource(ignore.ExcludeFile(trimSlash(d.Path))))
	}
	d.files, d.subs, d.skipped = make([]*File, len(files)), nil, rec.skipped()
	d.skipped.Unwanted = rec.fileCount() - len(files)
	for i := range files {
		f := &files[i]
		if d.files[i] = f; f.Ignored {
			d.skipped.IgnoredFiles++
		}
		if f.ranked {
			t.ranked[w.wanted[i]] = f
		}
	}
	t.listSubs(d, rec)
	return true
}

// listFiles gives the files of d that are wanted, as they are now.
func (t *Tree) listFiles(d *Dir, rec savedDir, w *workspace, began time.Time) ([]File, bool) {
	s := t.opts.Saved
	w.wanted, w.paths = w.wanted[:0], append(w.paths[:0], d.Path...)
	size := 0
	for i := rec.firstFile(); i < rec.firstFile()+rec.fileCount(); i++ {
		r := s.file(i)
		if w.keep != nil {
			w.paths = append(w.paths[:len(d.Path)], s.name(r.nameAt(), r.nameLen())...)
			if !w.keep(unsafe.String(&w.paths[0], len(w.paths)), len(d.Path)) {
				continue
			}
		}
		w.wanted = append(w.wanted, int32(i))
		size += len(d.Path) + r.nameLen()
	}
	if len(w.wanted) == 0 {
		return nil, true
	}
	var all strings.Builder
	all.Grow(size)
	look, done := statter(d, len(w.wanted))
	defer done()
	files := make([]File, len(w.wanted))
	for k, i := range w.wanted {
		r := s.file(int(i))
		start := all.Len()
		all.WriteString(d.Path)
		all.WriteString(s.name(r.nameAt(), r.nameLen()))
		path := all.String()[start:]
		st, err := look(path, s.names[r.nameAt():r.nameAt()+r.nameLen()])
		if err != nil || st.Kind != rawfs.Regular {
			return nil, false // changed under our eyes: it is listed in the ordinary way
		}
		f := &files[k]
		f.Path, f.Dir, f.name = path, d, uint16(len(d.Path))
		f.Mtime, f.Ctime, f.Size, f.ino = st.Mtime, st.Ctime, st.Size, st.Ino
		f.Unsteady, f.Ignored = st.Links > 1, r.ignored()
		t.settle(f, began)
		t.recallFile(f, r, &st)
	}
	return files, true
}

// recallFile gives a file that is as it was saved the place of its signature, and notes
// that its rank among the others is that of then.
func (t *Tree) recallFile(f *File, r savedFile, st *rawfs.Stat) {
	if f.Unsteady || !r.same(st) {
		return
	}
	if f.ranked = t.ranked != nil; r.place() != index.NoPlace {
		f.Slot.Restore(r.place())
	}
}

// openFrom is the number of files from which it pays to open their directory and to ask
// for each by its name alone.
const openFrom = 6

// statter gives a function that tells how the files of d are, and one to call at the end.
func statter(d *Dir, files int) (look func(path string, name []byte) (rawfs.Stat, error), done func()) {
	if files >= openFrom {
		if dir, err := rawfs.OpenDir(d.Path); err == nil {
			return func(_ string, name []byte) (rawfs.Stat, error) { return dir.StatEntry(name) }, dir.Close
		}
	}
	return func(path string, _ []byte) (rawfs.Stat, error) { return rawfs.Lstat(path) }, func() {}
}

func (t *Tree) listSubs(d *Dir, rec savedDir) {
	s := t.opts.Saved
	for i := rec.firstSub(); i < rec.firstSub()+rec.subCount(); i++ {
		r := s.dir(i)
		path := d.Path + s.name(r.nameAt(), r.nameLen()) + "/"
		if t.opts.Enter == nil || t.opts.Enter(path[:len(path)-1]) {
			d.subs = append(d.subs, &Dir{Path: path, parent: d, wd: -1, saved: int32(i + 1)})
		}
	}
}

// recallListed gives the files of a directory that was listed in the ordinary way what
// was saved of them.
func (t *Tree) recallListed(d *Dir) {
	rec, ok := t.recalled(d)
	if !ok {
		return
	}
	d.sameRules = t.sameRules(d, rec)
	if !t.opts.Stat {
		return
	}
	for _, f := range d.files {
		i := t.opts.Saved.findFile(rec, f.Name())
		if i < 0 {
			continue
		}
		st := rawfs.Stat{Mtime: f.Mtime, Ctime: f.Ctime, Size: f.Size, Ino: f.ino}
		if t.recallFile(f, t.opts.Saved.file(i), &st); f.ranked {
			t.ranked[i] = f
		}
	}
}

// arrangeSaved takes the order of files that are as they were from the list, and then
// has no more use for it. It notes how many were not.
func (t *Tree) arrangeSaved() {
	s := t.opts.Saved
	if s == nil {
		return
	}
	if t.opts.Stat {
		t.order = make([]*File, 0, t.count)
		for at := 0; at < len(s.order); at += 4 {
			if f := t.ranked[binary.LittleEndian.Uint32(s.order[at:])]; f != nil {
				t.order = append(t.order, f)
			}
		}
		t.added = slices.DeleteFunc(t.added, func(f *File) bool { return f.ranked })
		t.unlike = len(t.added)
	}
	t.ranked, t.opts.Saved = nil, nil
}

// Unlike is how many files were not as they had been saved when the tree was built.
func (t *Tree) Unlike() int { return t.unlike }

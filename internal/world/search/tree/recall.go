package tree

import (
	"context"
	"time"

	"github.com/haftdev/haft/internal/world/search/ignore"
	"github.com/haftdev/haft/internal/world/search/index"
	"github.com/haftdev/haft/internal/world/search/rawfs"
)

// recalled gives the record of d.
func (t *Tree) recalled(d *Dir) (savedDir, bool) {
	if t.opts.Saved == nil || d.saved == 0 {
		return nil, false
	}
	return t.opts.Saved.dir(int(d.saved) - 1), true
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
	w.want(t.opts.Saved, d, rec)
	look, err := newStatter(d, len(w.wanted))
	if err != nil {
		return false
	}
	defer look.close()
	st, err := look.dir(d)
	if err != nil || st != rec.stat() || recent(st, began) {
		return false
	}
	d.marks = rec.marks()
	if !t.sameRules(d, rec) {
		return false
	}
	files, ok := t.listFiles(d, w, look, began)
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
func (t *Tree) listFiles(d *Dir, w *workspace, look statter, began time.Time) ([]File, bool) {
	s := t.opts.Saved
	w.paths = w.paths[:0]
	for _, i := range w.wanted {
		r := s.file(int(i))
		w.paths = append(append(w.paths, d.Path...), s.name(r.nameAt(), r.nameLen())...)
	}
	all := string(w.paths)
	files := make([]File, len(w.wanted))
	for k, i := range w.wanted {
		r := s.file(int(i))
		n := len(d.Path) + r.nameLen()
		path := all[:n]
		all = all[n:]
		st, err := look.file(path, s.names[r.nameAt():r.nameAt()+r.nameLen()])
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

// A statter tells how a directory and its files are. For more than a few files it pays to
// open the directory and to ask for each by its name alone.
type statter struct {
	open rawfs.File
	is   bool
}

const openFrom = 4

func newStatter(d *Dir, files int) (s statter, err error) {
	if files >= openFrom {
		s.open, err = rawfs.OpenDir(d.Path)
		s.is = err == nil
	}
	return s, err
}

func (s *statter) close() {
	if s.is {
		s.open.Close()
	}
}

func (s *statter) dir(d *Dir) (rawfs.Stat, error) {
	if s.is {
		return s.open.Stat()
	}
	return rawfs.Lstat(trimSlash(d.Path))
}

// file asks for a file, whose name a NUL follows.
func (s *statter) file(path string, name []byte) (rawfs.Stat, error) {
	if s.is {
		return s.open.StatEntry(name)
	}
	return rawfs.Lstat(path)
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

// Unlike is how many files were not as they had been saved when the tree was built.
func (t *Tree) Unlike() int { return t.unlike }

// Watch makes a tree that was built without a watcher one that relies on it from now on. If
// the directories cannot be watched it stays as it was. The tree closes the watcher.
func (t *Tree) Watch(ctx context.Context, w Watcher) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.root == nil || t.watcher != nil {
		w.Close()
		return nil
	}
	t.watcher, t.byWatch = w, map[int32]*Dir{}
	if !t.watchAll(t.root) {
		t.closeWatcher()
		return nil
	}
	// What happened before the watches were there was not announced.
	c := changes{map[*Dir]bool{}, map[*Dir]bool{}, map[*Dir]map[string]bool{}}
	t.sweep(&c, t.root)
	var err error
	if c.rules[t.root] {
		err = t.rebuild(ctx)
	} else {
		err = t.apply(ctx, &c)
	}
	if err != nil {
		t.empty()
	}
	return err
}

func (t *Tree) watchAll(d *Dir) bool {
	if !t.watchDir(d) || !t.register(d) {
		return false
	}
	for _, s := range d.subs {
		if !t.watchAll(s) {
			return false
		}
	}
	return true
}

// Package tree keeps the list of files below a directory and proves it current.
//
// [Build] walks the directory in parallel, honouring ignore rules (package
// ignore). A tree built with a [Watcher] stays current: [Tree.View] drains the
// watcher and brings the list up to date before it gives it, touching only what
// changed. Without one, or after it failed, View compares every file and directory of
// the scope with the disk instead.
//
// A [File] is one version of one file and is immutable: when the file changes it
// is replaced by another with another ID. What someone remembers of a File is
// therefore either current or unreachable.
//
// A Tree is safe for concurrent use. Its owner calls [Tree.Close].
package tree

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/haftdev/haft/internal/world/search/ignore"
	"github.com/haftdev/haft/internal/world/search/index"
	"github.com/haftdev/haft/internal/world/search/rawfs"
)

// File is one version of a regular file.
type File struct {
	Path         string
	Dir          *Dir
	Mtime, Ctime int64 // nanoseconds; 0 if the tree was built without Stat
	Size         int64
	ino          uint64
	ID           uint32 // unique within the tree, never used again
	name         uint16 // where the last element of Path starts
	Ignored      bool   // ignore rules hide it; a glob that names it brings it back
	// Unsteady means that the file can change without the tree noticing: it has
	// other names, or was so new when looked at that a clock tick could hide a
	// change. Nothing about its content may be remembered.
	Unsteady bool
	gone     atomic.Bool // set under Tree.mu
	ranked   bool        // as in Options.Saved, whose order holds for it
	// Slot is for an index of this version's content.
	Slot index.Slot
}

func newFile(d *Dir, e *entry) File {
	return File{
		Path: e.path, Dir: d, name: uint16(len(d.Path)),
		Mtime: e.stat.Mtime, Ctime: e.stat.Ctime, Size: e.stat.Size, ino: e.stat.Ino,
		Unsteady: e.stat.Links > 1,
		Ignored:  d.rules.Match(e.path, false) == ignore.Ignore,
	}
}

// Name is the last element of the path.
func (f *File) Name() string { return f.Path[f.name:] }

// Gone reports whether this version has left its tree. It is so before
// Options.Dropped is called.
func (f *File) Gone() bool { return f.gone.Load() }

func (f *File) changed() bool {
	st, err := rawfs.Lstat(f.Path)
	return err != nil || st.Kind != rawfs.Regular || !f.same(st)
}

func (f *File) same(st rawfs.Stat) bool {
	return f.Mtime == st.Mtime && f.Ctime == st.Ctime && f.Size == st.Size && f.ino == st.Ino
}

// Dir is one directory.
type Dir struct {
	Path       string // with a trailing slash
	parent     *Dir
	rules      *ignore.Dir // of its entries
	marks      ignore.Marks
	files      []*File
	subs       []*Dir
	stat       rawfs.Stat
	unsettled  bool // stat was so new that a clock tick could hide a change
	wd         int32
	sources    []source // on their way to Tree.sources
	unreadable bool
	replaced   bool // something else may be at Path now: walk it afresh
	// saved is the number of its record in Options.Saved, from 1; 0 if there is none.
	// sameRules says that the rules here are those of then.
	saved       int32
	sameRules   bool
	linkedRules bool // a rule file is a link
	skipped     Skipped
}

// Parent is the directory that holds d; nil for the root.
func (d *Dir) Parent() *Dir { return d.parent }

func (d *Dir) subNamed(name string) int {
	return slices.IndexFunc(d.subs, func(s *Dir) bool { return s.name() == name })
}

func (d *Dir) name() string {
	p := strings.TrimSuffix(d.Path, "/")
	return p[strings.LastIndexByte(p, '/')+1:]
}

// Skipped counts what a walk passed over.
type Skipped struct {
	Unwanted     int // files that Options.Keep did not want
	IgnoredFiles int
	IgnoredDirs  int // not entered, so their files are not counted
	Links        int // symbolic links
	Special      int // devices, sockets, FIFOs
	Unreadable   int // directories that could not be listed
}

func (s *Skipped) add(o Skipped) {
	s.Unwanted += o.Unwanted
	s.IgnoredFiles += o.IgnoredFiles
	s.IgnoredDirs += o.IgnoredDirs
	s.Links += o.Links
	s.Special += o.Special
	s.Unreadable += o.Unreadable
}

// Options configure a tree.
type Options struct {
	// Stat records times and sizes. Without it the tree is a list to be read once.
	Stat bool
	// Times records times and sizes of files alone. The list is still to be read once.
	Times bool
	// Watcher announces changes. Nil makes View look at every file. The tree closes
	// it.
	Watcher Watcher
	// Global gives the user's ignore rules, again each time the tree is built; nil
	// means none.
	Global func() ignore.Global
	// Dropped is called for every version that leaves the tree; nil means nobody
	// cares. It must not call the tree.
	Dropped func(*File)
	// Keep and Enter narrow a tree without Stat to the files that Keep wants, which is
	// given a path and where its last element starts, and to the directories that Enter
	// wants. Nil wants all. Paths are valid during the call; several calls may run at
	// once.
	Keep  func(path string, name int) bool
	Enter func(dir string) bool
	// MaxFiles ends the walk; zero means no limit.
	MaxFiles int
	// Saved is the list of an earlier process; nil means none. It saves looking at what
	// is as it was, and nothing else depends on it.
	Saved *Saved
	// Workers is the number of directories read at once; zero means one.
	Workers int
}

// Tree is the files below one directory.
type Tree struct {
	Root string // absolute, without a trailing slash unless it is /

	opts    Options
	mu      sync.Mutex
	root    *Dir
	base    *ignore.Dir // rules above the root
	sources []source
	byWatch map[int32]*Dir
	watcher Watcher
	order   []*File // newest first; nil until asked for
	added   []*File // not yet in order
	removed bool    // order holds files that are gone
	// unsteady files are looked at in every refresh.
	unsteady map[*File]bool
	nextID   uint32
	count    int
	dirs     int
	full     bool // MaxFiles was reached

	above     []source // those of sources that are not in the tree
	sameAbove bool     // and they are as in opts.Saved
	ranked    []*File  // by number in opts.Saved; nil where one is not as it was
	unlike    int
}

// Build walks root, an absolute path. The error is that of ctx or of root itself.
func Build(ctx context.Context, root string, o *Options) (*Tree, error) {
	t := &Tree{Root: root}
	if o != nil {
		t.opts = *o
	}
	t.opts.Workers = max(1, t.opts.Workers)
	t.watcher = t.opts.Watcher
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.rebuild(ctx); err != nil {
		t.closeWatcher()
		return nil, err
	}
	t.arrangeSaved()
	return t, nil
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

// rebuild forgets everything and walks again.
func (t *Tree) rebuild(ctx context.Context) error {
	for wd := range t.byWatch {
		t.watcher.Remove(wd)
	}
	t.byWatch = map[int32]*Dir{}
	if t.root != nil {
		t.drop(t.root)
	}
	t.order, t.added, t.removed = nil, nil, false
	t.unsteady = map[*File]bool{}
	t.count, t.dirs, t.full = 0, 0, false
	t.loadRules()
	t.root = &Dir{Path: withSlash(t.Root), wd: -1, rules: t.base}
	t.recallRoot()
	err := t.walk(ctx, []*Dir{t.root})
	if err == nil && t.root.unreadable {
		_, err = rawfs.Lstat(t.Root)
		if err == nil {
			err = errUnreadable
		}
	}
	return err
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

func (t *Tree) loadRules() {
	var global ignore.Global
	if t.opts.Global != nil {
		global = t.opts.Global()
	}
	base, paths := ignore.Root(t.Root, global)
	t.base, t.sources, t.above = base, nil, nil
	if !t.opts.Stat && t.opts.Saved == nil {
		return // nobody will ask whether they changed
	}
	for _, p := range append(paths, global.Sources()...) {
		t.above = append(t.above, newSource(p))
	}
	t.sources = slices.Clone(t.above)
}

// Close releases the watcher and the list. Afterwards the tree is empty.
func (t *Tree) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.empty()
}

func (t *Tree) empty() {
	t.closeWatcher()
	t.root, t.order, t.added = nil, nil, nil
}

func (t *Tree) closeWatcher() {
	if t.watcher != nil {
		t.watcher.Close()
		t.watcher = nil
	}
	t.byWatch = nil
}

// Watched reports whether a watcher announces changes.
func (t *Tree) Watched() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.watcher != nil
}

// Size gives the number of files and directories, and whether MaxFiles cut the
// list short.
func (t *Tree) Size() (files, dirs int, full bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count, t.dirs, t.full
}

// find gives the directory at path, absolute and clean, if the tree holds it.
func (t *Tree) find(path string) *Dir {
	path = withSlash(path)
	if t.root == nil || !strings.HasPrefix(path, t.root.Path) {
		return nil
	}
	d := t.root
next:
	for d.Path != path {
		for _, s := range d.subs {
			if strings.HasPrefix(path, s.Path) {
				d = s
				continue next
			}
		}
		return nil
	}
	return d
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

// Save encodes the list as it is now, with the places of signatures in snap. What
// changed so lately that another change could look the same is not vouched for. It also
// gives the places.
func (t *Tree) Save(ctx context.Context, x *index.Index, snap index.Snapshot) (list []byte, places []uint32, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := time.Now()
	if t.root == nil {
		return nil, nil, errList
	}
	if err := t.refresh(ctx, t.Root); err != nil {
		t.empty()
		return nil, nil, err
	}
	t.arrange()
	e := encoder{at: at, dev: t.root.stat.Dev, index: x, snap: snap, number: make(map[*File]uint32, t.count)}
	e.all(t.root)
	out := make([]byte, 0, headerSize+len(e.dirs)+len(e.files)+4*len(t.order)+len(e.names))
	rules := t.rulesAbove()
	out = append(out, rules[:]...)
	for _, n := range []int{len(e.dirs) / dirSize, len(e.files) / fileSize, len(e.names), e.signed, e.pending} {
		out = binary.LittleEndian.AppendUint32(out, uint32(n))
	}
	out = append(append(out, e.dirs...), e.files...)
	for _, f := range t.order {
		out = binary.LittleEndian.AppendUint32(out, e.number[f])
	}
	return append(out, e.names...), e.places, nil
}

// rulesAbove is a sum of what decides above the root which files are ignored: the same
// sum means the same rules.
func (t *Tree) rulesAbove() (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, s := range t.above {
		h.Write(s.sum())
	}
	return [sha256.Size]byte(h.Sum(nil))
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

func (t *Tree) sweepDir(c *changes, d *Dir) {
	st, err := rawfs.Lstat(trimSlash(d.Path))
	if err != nil || st != d.stat || d.unsettled {
		c.dirs[d] = true
		if d.parent != nil {
			c.dirs[d.parent] = true
		}
	}
}

// settle marks a version that may change within a tick of the clock, when nobody
// announces changes.
func (t *Tree) settle(f *File, at time.Time) {
	if t.watcher == nil && recent(rawfs.Stat{Mtime: f.Mtime, Ctime: f.Ctime}, at) {
		f.Unsteady = true
	}
}

// walk reads dirs and all below them into the tree.
func (t *Tree) walk(ctx context.Context, dirs []*Dir) error {
	if len(dirs) == 0 {
		return nil
	}
	w := &walker{tree: t, ctx: ctx, queue: dirs}
	w.idle.L = &w.mu
	w.watch.Store(t.watcher != nil)
	var helpers sync.WaitGroup
	w.run(&helpers)
	helpers.Wait()
	if err := ctx.Err(); err != nil || t.watcher == nil || w.watch.Load() {
		return err
	}
	// What was looked at relied on the watcher to announce what a tick hides.
	t.closeWatcher()
	return t.rebuild(ctx)
}

// watchDir asks for the changes of d; this must come before d is listed.
func (t *Tree) watchDir(d *Dir) bool {
	var err error
	d.wd, err = t.watcher.Add(d.Path)
	return err == nil || d.parent != nil && !exists(d.Path)
}

// register files d under its watch. Two directories with the same watch are one
// directory mounted twice, which watching cannot tell apart.
func (t *Tree) register(d *Dir) bool {
	if d.wd < 0 {
		return true
	}
	if other := t.byWatch[d.wd]; other != nil && other != d {
		return false
	}
	t.byWatch[d.wd] = d
	// Something else may be mounted here, whose changes are not announced.
	return d.parent == nil || d.stat.Dev == t.root.stat.Dev || rawfs.Local(d.Path)
}

// adopt gives d's files their numbers and counts them.
func (t *Tree) adopt(d *Dir) {
	t.dirs++
	t.sources = append(t.sources, d.sources...)
	d.sources = nil
	for _, f := range d.files {
		t.enter(f)
	}
	if t.opts.MaxFiles > 0 && t.count > t.opts.MaxFiles {
		t.full = true
	}
}

// enter adds a file that is in its directory's list already.
func (t *Tree) enter(f *File) {
	t.nextID++
	f.ID = t.nextID
	t.count++
	if f.Unsteady {
		t.unsteady[f] = true
	}
	t.added = append(t.added, f)
}

// list reads the entries of d.
func (t *Tree) list(d *Dir, w *workspace) {
	if t.listSaved(d, w) {
		return
	}
	found, err := w.readEntries(d, t.opts.Stat)
	if err != nil {
		d.unreadable = true
		d.skipped.Unreadable = 1
		return
	}
	d.stat, d.marks, d.sources, d.linkedRules = found.stat, found.marks, found.sources, len(found.sources) > 0
	if d.marks&ignore.HasGit != 0 {
		d.sources = append(d.sources, newSource(ignore.ExcludeFile(trimSlash(d.Path))))
	}
	d.rules = t.rulesFor(d)
	t.fill(d, found)
	if t.opts.Stat {
		d.unsettled = recent(d.stat, found.began)
		for _, f := range d.files {
			t.settle(f, found.began)
		}
	}
	t.recallListed(d)
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

func withSlash(p string) string {
	if strings.HasSuffix(p, "/") {
		return p
	}
	return p + "/"
}

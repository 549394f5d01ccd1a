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
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

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

func withSlash(p string) string {
	if strings.HasSuffix(p, "/") {
		return p
	}
	return p + "/"
}

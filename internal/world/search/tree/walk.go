package tree

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/haftdev/haft/internal/world/search/ignore"
	"github.com/haftdev/haft/internal/world/search/rawfs"
)

var errUnreadable = errors.New("directory cannot be read")

// versionControl names the directories (and in linked worktrees, files) that hold
// a repository's own data. They are never part of a tree.
var versionControl = map[string]bool{
	".git": true, ".hg": true, ".svn": true, ".bzr": true, ".jj": true, ".sl": true,
}

// walker reads directories with several goroutines. Callers hold Tree.mu; the
// walker's own lock guards what the goroutines share.
type walker struct {
	tree    *Tree
	ctx     context.Context
	mu      sync.Mutex
	idle    sync.Cond
	queue   []*Dir
	busy    int
	helpers int
	watch   atomic.Bool // cleared when a watch is not available
}

// aloneDirs is how many directories one goroutine lists before others help: to wake
// another thread costs as much.
const aloneDirs = 24

// run lists directories until none is left. Helpers start when there is work for
// them: most subtrees are too small for one.
func (w *walker) run(helpers *sync.WaitGroup) {
	work := workspace{keep: w.tree.opts.Keep, times: w.tree.opts.Times}
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for len(w.queue) == 0 && w.busy > 0 {
			w.idle.Wait()
		}
		if len(w.queue) == 0 || w.ctx.Err() != nil || w.tree.full {
			w.queue = nil
			w.idle.Broadcast()
			return
		}
		if w.tree.dirs >= aloneDirs && len(w.queue) > 4 && w.helpers < w.tree.opts.Workers-1 {
			w.helpers++
			helpers.Go(func() { w.run(helpers) })
		}
		d := w.queue[len(w.queue)-1]
		w.queue = w.queue[:len(w.queue)-1]
		w.busy++
		w.mu.Unlock()
		if w.watch.Load() && !w.tree.watchDir(d) {
			w.watch.Store(false)
		}
		w.tree.list(d, &work)
		w.mu.Lock()
		w.busy--
		if w.watch.Load() && !w.tree.register(d) {
			w.watch.Store(false)
		}
		w.tree.adopt(d)
		w.queue = append(w.queue, d.subs...)
		w.idle.Broadcast()
	}
}

func exists(path string) bool {
	_, err := rawfs.Lstat(path)
	return err == nil
}

func (t *Tree) rulesFor(d *Dir) *ignore.Dir {
	above := t.base
	if d.parent != nil {
		above = d.parent.rules
	}
	return above.Child(trimSlash(d.Path), d.marks)
}

func trimSlash(p string) string {
	if len(p) > 1 {
		return p[:len(p)-1]
	}
	return p
}

// entry is a directory entry with its whole path.
type entry struct {
	path string
	kind rawfs.Kind
	stat rawfs.Stat
}

type listing struct {
	entries []entry
	began   time.Time // before anything was looked at; zero without Stat
	stat    rawfs.Stat
	marks   ignore.Marks
	sources []source // rule files that are links: their targets are not watched
	refused int      // files that workspace.keep did not want
}

// workspace is memory that listings use again and again. A listing is valid until
// the next one.
type workspace struct {
	keep    func(path string, name int) bool // nil: all
	times   bool                             // look at files even if nobody asks for their state
	dirents []byte
	paths   []byte
	ends    []int
	entries []entry
	wanted  []int32 // numbers of saved files
}

// readEntries lists d. All paths share one string.
func (w *workspace) readEntries(d *Dir, stat bool) (listing, error) {
	var l listing
	f, err := rawfs.OpenDir(d.Path)
	if err != nil {
		return l, err
	}
	defer f.Close()
	if stat {
		l.began = time.Now()
		if l.stat, err = f.Stat(); err != nil {
			return l, err
		}
	}
	if w.dirents == nil {
		w.dirents = make([]byte, 32<<10)
	}
	w.paths, w.ends, w.entries = w.paths[:0], w.ends[:0], w.entries[:0]
	err = f.List(w.dirents, func(e *rawfs.Entry) { w.take(d, &l, e, stat) })
	all, start := string(w.paths), 0
	for i, end := range w.ends {
		w.entries[i].path = all[start:end]
		start = end
	}
	l.entries = w.entries
	return l, err
}

func (w *workspace) take(d *Dir, l *listing, e *rawfs.Entry, stat bool) {
	if e.Name[0] == '.' {
		w.mark(d, l, e)
	}
	start := len(w.paths)
	w.paths = append(append(w.paths, d.Path...), e.Name...)
	en := entry{kind: e.Kind}
	if e.Kind == rawfs.Regular && !w.look(d, l, e, &en, stat) {
		w.paths = w.paths[:start]
		return
	}
	w.ends = append(w.ends, len(w.paths))
	w.entries = append(w.entries, en)
}

func (w *workspace) mark(d *Dir, l *listing, e *rawfs.Entry) {
	if m := ignore.MarkOf(string(e.Name)); m != 0 {
		l.marks |= m
		if e.Kind == rawfs.Symlink {
			l.sources = append(l.sources, newSource(d.Path+string(e.Name)))
		}
	}
}

// look decides whether a file, whose path is the last in w.paths, is listed.
func (w *workspace) look(d *Dir, l *listing, e *rawfs.Entry, en *entry, stat bool) bool {
	if w.keep != nil {
		size := len(d.Path) + len(e.Name)
		// Most files are refused, so that a string of their own would be waste.
		if !w.keep(unsafe.String(&w.paths[len(w.paths)-size], size), len(d.Path)) {
			l.refused++
			return false
		}
	}
	if stat || w.times {
		var err error
		if en.stat, err = e.Stat(); err != nil {
			return false // gone since
		}
		en.kind = en.stat.Kind
	}
	return true
}

// want collects the saved files of d that are wanted.
func (w *workspace) want(s *Saved, d *Dir, rec savedDir) {
	w.wanted, w.paths = w.wanted[:0], append(w.paths[:0], d.Path...)
	for i := rec.firstFile(); i < rec.firstFile()+rec.fileCount(); i++ {
		if w.keep != nil {
			r := s.file(i)
			w.paths = append(w.paths[:len(d.Path)], s.name(r.nameAt(), r.nameLen())...)
			if !w.keep(unsafe.String(&w.paths[0], len(w.paths)), len(d.Path)) {
				continue
			}
		}
		w.wanted = append(w.wanted, int32(i))
	}
}

// fill sorts the entries of a fresh listing into files, directories and the rest.
func (t *Tree) fill(d *Dir, l listing) {
	files := make([]File, 0, len(l.entries))
	d.files, d.subs, d.skipped = nil, nil, Skipped{Unwanted: l.refused}
	for i := range l.entries {
		e := &l.entries[i]
		if e.path[len(d.Path)] == '.' && versionControl[e.path[len(d.Path):]] {
			continue
		}
		switch e.kind {
		case rawfs.Directory:
			t.fillDir(d, e.path)
		case rawfs.Regular:
			files = append(files, newFile(d, e))
		case rawfs.Symlink:
			d.skipped.Links++
		default:
			d.skipped.Special++
		}
	}
	d.files = make([]*File, 0, len(files))
	for i := range files {
		if files[i].Ignored {
			d.skipped.IgnoredFiles++
		}
		d.files = append(d.files, &files[i])
	}
}

func (t *Tree) fillDir(d *Dir, path string) {
	if d.rules.Match(path, true) == ignore.Ignore {
		d.skipped.IgnoredDirs++
	} else if t.opts.Enter == nil || t.opts.Enter(path) {
		sub := &Dir{Path: path + "/", parent: d, wd: -1}
		t.attachSaved(d, sub)
		d.subs = append(d.subs, sub)
	}
}

// attachSaved links d to its entry in the saved index.
func (t *Tree) attachSaved(parent, d *Dir) {
	if rec, ok := t.recalled(parent); ok {
		d.saved = int32(1 + t.opts.Saved.findSub(rec, d.name()))
	}
}

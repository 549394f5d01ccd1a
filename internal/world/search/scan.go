package search

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/haftdev/haft/internal/world/search/rawfs"
	"github.com/haftdev/haft/internal/world/search/rx"
	"github.com/haftdev/haft/internal/world/search/tree"
)

// scan runs one query over a list of files.
type scan struct {
	s       *Searcher
	q       *Query
	pattern *rx.Pattern
	filter  *filter
	// sorted means that files come newest first, so that the first results are the
	// last word.
	sorted     bool
	shortIsEnd bool
	cache      *cache
	// candidate rules out files that cannot match; nil rules out none.
	candidate func(*tree.File) bool

	stop  atomic.Pointer[string] // the part of the budget that ran out
	bytes atomic.Int64
	res   Result
	lines int // in res
}

// firstBatch is how many files are read before looking whether the limit is
// reached; batches double from there.
const firstBatch = 64

// run searches files in batches, so that a query with a limit stops early and
// still answers the same whatever the number of workers.
func (sc *scan) run(ctx context.Context, files []*tree.File) {
	defer sc.watch(ctx)()
	size := len(files)
	if sc.sorted && sc.q.Limit > 0 {
		size = firstBatch
	}
	batch := make([]*tree.File, 0, min(size, 4096))
	for i, f := range files {
		if sc.admit(f) {
			batch = append(batch, f)
		}
		if len(batch) < size && i < len(files)-1 {
			continue
		}
		if sc.search(batch); sc.enough() && sc.sorted {
			sc.res.More = i < len(files)-1 || sc.res.More
			return
		}
		if sc.stop.Load() != nil {
			break
		}
		batch = batch[:0]
		size *= 2
	}
	if !sc.sorted {
		sc.arrange()
	}
}

// watch halts the scan when ctx ends, which is the budget's time or the caller's
// wish; the caller knows which. What it returns ends the watch.
func (sc *scan) watch(ctx context.Context) func() bool {
	if ctx.Err() != nil {
		sc.halt("time")
	}
	return context.AfterFunc(ctx, func() { sc.halt("time") })
}

func (sc *scan) halt(why string) { sc.stop.CompareAndSwap(nil, &why) }

// admit decides whether f may have to be read.
func (sc *scan) admit(f *tree.File) bool {
	if !sc.filter.match(f) {
		return false
	}
	if sc.res.Stats.Scanned++; sc.res.Stats.Scanned > sc.q.Budget.Files {
		sc.halt("files")
		return false
	}
	return sc.candidate == nil || sc.candidate(f)
}

// search reads the files of one batch and adds what it finds in order.
func (sc *scan) search(files []*tree.File) {
	if len(files) == 0 || sc.stop.Load() != nil {
		return
	}
	b := batch{scan: sc, files: files, hits: make([]*Hit, len(files))}
	b.run()
	for _, h := range b.hits {
		if h != nil {
			if sc.enough() && sc.sorted {
				sc.res.More = true
				return
			}
			sc.res.Hits = append(sc.res.Hits, *h)
			sc.res.More = sc.res.More || h.cut
			sc.lines += len(h.Lines)
		}
	}
}

// batch is files that several workers search at once.
type batch struct {
	scan  *scan
	files []*tree.File
	hits  []*Hit // nil where there is none
	next  atomic.Int64
	mu    sync.Mutex // of scan.res.Stats
}

// aloneFiles and aloneBytes are what one worker does before others help: to wake
// another thread costs as much as reading a few dozen files.
const (
	aloneFiles = 128
	aloneBytes = 8 << 20
)

// run uses as many workers as pay for themselves.
func (b *batch) run() {
	left := b.work(aloneFiles, aloneBytes)
	var helpers sync.WaitGroup
	for range min(b.scan.s.opts.Workers, 1+left/8) - 1 {
		helpers.Go(func() { b.work(math.MaxInt, math.MaxInt64) })
	}
	if left > 0 {
		b.work(math.MaxInt, math.MaxInt64)
	}
	helpers.Wait()
}

// work searches files until none is left, or until it has done so many or so much, and
// tells how many are left.
func (b *batch) work(files int, bytes int64) (left int) {
	w := b.scan.s.worker(b.scan)
	var st Stats
	for i := b.next.Add(1) - 1; i < int64(len(b.files)) && b.scan.stop.Load() == nil; i = b.next.Add(1) - 1 {
		b.hits[i] = w.search(b.files[i], &st)
		if files--; files <= 0 || st.Bytes >= bytes {
			left = len(b.files) - int(i) - 1
			break
		}
	}
	b.scan.s.release(w)
	b.mu.Lock()
	b.scan.res.Stats.add(st)
	b.mu.Unlock()
	return left
}

// enough reports whether the limit is reached.
func (sc *scan) enough() bool {
	if sc.q.Limit <= 0 {
		return false
	}
	if sc.q.Mode == Content {
		return sc.lines >= sc.q.Limit
	}
	return len(sc.res.Hits) >= sc.q.Limit
}

// arrange sorts hits that were found in no order and applies the limit.
func (sc *scan) arrange() {
	slices.SortFunc(sc.res.Hits, newestFirst)
	if sc.q.Limit <= 0 {
		return
	}
	lines := 0
	for i, h := range sc.res.Hits {
		if sc.q.Mode == Content && lines >= sc.q.Limit || sc.q.Mode != Content && i >= sc.q.Limit {
			sc.res.Hits, sc.res.More = sc.res.Hits[:i], true
			return
		}
		lines += len(h.Lines)
	}
}

// answer finds the files and searches them.
func (sc *scan) answer(ctx context.Context) error {
	path := sc.q.Path
	st, err := rawfs.StatPath(path)
	if err != nil {
		return &fs.PathError{Op: "search", Path: path, Err: err}
	}
	if st.Kind != rawfs.Directory {
		return sc.single(ctx, path, st.Mtime)
	}
	if l, err := rawfs.Lstat(path); err == nil && l.Kind == rawfs.Symlink {
		return sc.throughLink(ctx, path)
	}
	if done, err := sc.first(ctx, path); done || err != nil {
		return err
	}
	v, err := sc.s.trees.view(ctx, sc.q.Dir, path)
	if err != nil {
		return err
	}
	if v == nil {
		return sc.fresh(ctx, path)
	}
	sc.sorted, sc.shortIsEnd, sc.cache = true, v.local, v.cache
	sc.candidate = v.index.candidates(sc.pattern)
	sc.run(ctx, v.files)
	sc.s.trees.startWatch(v.kept)
	sc.s.trees.startIndex(v.kept)
	sc.res.Stats.Tree = v.tree.Skipped(path)
	return nil
}

// throughLink searches the directory that a link leads to. A link is followed when
// it is named; the results keep its name.
func (sc *scan) throughLink(ctx context.Context, link string) error {
	real, err := filepath.EvalSymlinks(link)
	if err != nil {
		return &fs.PathError{Op: "search", Path: link, Err: err}
	}
	if sc.q.Dir == link {
		sc.q.Dir = real
	}
	sc.q.Path = real
	if sc.filter, err = newFilter(sc.q); err != nil {
		return err
	}
	if err := sc.answer(ctx); err != nil {
		return err
	}
	for i, h := range sc.res.Hits {
		sc.res.Hits[i].Path = filepath.Join(link, strings.TrimPrefix(h.Path, real))
	}
	return nil
}

// first answers the first query about a directory if that is too small for an index:
// it is searched in less time than it takes to make a list to keep, which is for later.
func (sc *scan) first(ctx context.Context, path string) (done bool, err error) {
	ts := &sc.s.trees
	if ts.opts.Stateless || path != covering(sc.q.Dir, path) || ts.find(path) != nil || ts.saved(path) {
		return false, nil
	}
	t, full, err := sc.walk(ctx, path, ts.opts.IndexFrom)
	if err != nil {
		return false, err
	}
	defer t.Close()
	if full {
		return false, nil
	}
	sc.once(ctx, t)
	ts.prepare(path, path)
	return true, nil
}

// fresh walks the directory for this query alone.
func (sc *scan) fresh(ctx context.Context, path string) error {
	t, full, err := sc.walk(ctx, path, sc.q.Budget.Files)
	if err != nil {
		return err
	}
	defer t.Close()
	if full {
		sc.halt("files")
	}
	sc.once(ctx, t)
	return nil
}

// walk lists path, until there are more than max files.
func (sc *scan) walk(ctx context.Context, path string, max int) (t *tree.Tree, full bool, err error) {
	t, err = tree.Build(ctx, path, &tree.Options{Global: sc.s.opts.Global, Workers: sc.s.opts.Workers, MaxFiles: max})
	if err != nil {
		return nil, false, &fs.PathError{Op: "search", Path: path, Err: err}
	}
	_, _, full = t.Size()
	return t, full, nil
}

// once searches the files of a tree that is not kept.
func (sc *scan) once(ctx context.Context, t *tree.Tree) {
	sc.shortIsEnd = rawfs.Local(t.Root)
	sc.run(ctx, t.Files(t.Root))
	sc.res.Stats.Tree = t.Skipped(t.Root)
}

// single searches one file that was named explicitly.
func (sc *scan) single(ctx context.Context, path string, mtime int64) error {
	if sc.q.Allow != nil && !sc.q.Allow(path) {
		return &fs.PathError{Op: "search", Path: path, Err: ErrDenied}
	}
	defer sc.watch(ctx)()
	w := sc.s.worker(sc)
	defer sc.s.release(w)
	w.r.explicit = true
	sc.res.Stats.Scanned = 1
	var st Stats
	hit, ok, err := w.named(path, &st)
	if err != nil {
		if w.refuse(err, &st); st.Unreadable > 0 {
			return &fs.PathError{Op: "search", Path: path, Err: err}
		}
	} else if ok {
		hit.Path, hit.Mtime = path, mtime
		sc.res.Hits, sc.res.More = []Hit{hit}, hit.cut
	}
	sc.res.Stats.add(st)
	return nil
}

// worker reads and searches files for one goroutine.
type worker struct {
	scan  *scan
	r     reader
	c     collector
	sieve func([]byte) bool // of c.m
}

// search gives the hit in f, or nil.
func (w *worker) search(f *tree.File, st *Stats) *Hit {
	if allow := w.scan.q.Allow; allow != nil && !allow(f.Path) {
		st.Denied++
		return nil
	}
	text, err := w.text(f)
	size := int64(len(text))
	if errors.Is(err, errNothing) {
		size = w.r.sifted
	} else if err != nil {
		w.refuse(err, st)
		return nil
	}
	if w.r.last.Doubtful {
		st.Doubtful = append(st.Doubtful, f.Path)
	}
	st.Bytes += size
	if max := w.scan.q.Budget.Bytes; max > 0 && w.scan.bytes.Add(size) > max {
		w.scan.halt("bytes")
		return nil
	}
	if err != nil {
		return nil
	}
	hit, ok, binary := w.c.collect(text, w.r.explicit)
	if binary {
		st.Binary++
	}
	if !ok || w.scan.stop.Load() != nil {
		return nil
	}
	return w.found(f, hit)
}

// found completes a hit. Most files have none, and need no room for one.
func (w *worker) found(f *tree.File, hit Hit) *Hit {
	hit.Path, hit.Mtime = f.Path, f.Mtime
	if !w.scan.sorted { // the walk did not look at times, and the file is still open
		st, _ := w.r.file.Stat()
		hit.Mtime = st.Mtime
	}
	return &hit
}

// text gives the text of f, from memory if it is there.
func (w *worker) text(f *tree.File) (text []byte, err error) {
	w.r.last = Decoded{}
	if text, ok := w.scan.cache.get(f); ok {
		return text, nil
	}
	w.r.sieve = w.sieve
	if w.scan.cache.wants(f) {
		w.r.sieve = nil
	}
	if text, err = w.r.read(f.Path); err == nil && w.r.lasting() {
		w.scan.cache.put(f, text)
	}
	return text, err
}

// refuse counts a file that could not be searched.
func (w *worker) refuse(err error, st *Stats) {
	switch {
	case errors.Is(err, errBinary):
		st.Binary++
	case errors.Is(err, errTooLarge):
		st.TooLarge++
	case errors.Is(err, errStopped):
	default:
		st.Unreadable++
	}
}

// named searches the file at a path, in pieces if it is too large.
func (w *worker) named(path string, st *Stats) (hit Hit, ok bool, err error) {
	text, err := w.r.read(path)
	if errors.Is(err, errTooLarge) {
		return w.searchLarge(st)
	}
	if err != nil {
		return Hit{}, false, err
	}
	st.Bytes = int64(len(text))
	hit, ok, _ = w.c.collect(text, true)
	return hit, ok, nil
}

// searchLarge searches a file that the query names and that is too large to be in memory,
// piece by piece. Each piece ends with a line, so that matches over several lines cannot
// be found in this way.
func (w *worker) searchLarge(st *Stats) (hit Hit, ok bool, err error) {
	if w.scan.q.Multiline || isUTF16(w.r.buf) {
		return Hit{}, false, errTooLarge
	}
	if err := w.r.file.Rewind(); err != nil {
		return Hit{}, false, err
	}
	p := pieces{r: &w.r, file: w.r.file, limit: min(window, w.r.max)}
	w.c.begin()
	binary := false
	for !p.end {
		text, err := p.next(w.c.keep())
		if err != nil {
			return Hit{}, false, err
		}
		var enough bool
		if enough, binary = w.c.piece(text, p.shift, p.kept); enough || binary {
			break
		}
	}
	st.Bytes += p.read
	if binary || p.binary && w.c.hit.Count > 0 {
		return Hit{Count: max(1, w.c.hit.Count), Binary: true}, true, nil
	}
	return w.c.hit, w.c.hit.Count > 0, nil
}

func newestFirst(a, b Hit) int {
	if c := cmp.Compare(b.Mtime, a.Mtime); c != 0 {
		return c
	}
	return strings.Compare(a.Path, b.Path)
}

// window is how much of a file is in memory at a time if it is too large to be read as
// a whole. A longer line makes it grow.
const window = 32 << 20

package search

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/haftdev/haft/internal/search/rx"
	"github.com/haftdev/haft/internal/search/tree"
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

func (s *Stats) add(o Stats) {
	s.Bytes += o.Bytes
	s.Binary += o.Binary
	s.Denied += o.Denied
	s.TooLarge += o.TooLarge
	s.Unreadable += o.Unreadable
	s.Doubtful = append(s.Doubtful, o.Doubtful...)
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

// worker reads and searches files for one goroutine.
type worker struct {
	scan  *scan
	r     reader
	c     collector
	sieve func([]byte) bool // of c.m
}

// worker takes an idle worker, whose buffers are warm, or makes one.
func (s *Searcher) worker(sc *scan) *worker {
	w, _ := s.workers.Get().(*worker)
	if w == nil {
		w = &worker{}
	}
	stop := func() bool { return sc.stop.Load() != nil }
	w.scan = sc
	w.r.max, w.r.stop, w.r.explicit, w.r.shortIsEnd = s.opts.MaxFileSize, stop, false, sc.shortIsEnd
	w.r.legacy = s.opts.Decode
	w.c = collector{q: sc.q, m: sc.pattern.Matcher(), max: sc.q.Limit}
	w.c.m.Stop = stop
	w.sieve, w.r.sieve = w.c.m.Sieve, nil
	return w
}

func (s *Searcher) release(w *worker) {
	w.r.close()
	w.scan.pattern.Release(w.c.m)
	w.scan, w.c, w.r.stop, w.sieve, w.r.sieve = nil, collector{}, nil, nil, nil
	s.workers.Put(w)
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

// get gives the text of this version, which is not to be changed.
func (c *cache) get(f *tree.File) (text []byte, ok bool) {
	if c == nil {
		return nil, false
	}
	s := c.shard(f)
	s.mu.RLock()
	defer s.mu.RUnlock()
	text, ok = s.texts[f.ID]
	return text, ok
}

// wants reports whether put would keep the text of f.
func (c *cache) wants(f *tree.File) bool {
	return c != nil && !f.Unsteady && f.Size <= maxCached && c.budget.used.Load()+f.Size <= c.budget.max
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

func newestFirst(a, b Hit) int {
	if c := cmp.Compare(b.Mtime, a.Mtime); c != 0 {
		return c
	}
	return strings.Compare(a.Path, b.Path)
}

package search

import (
	"cmp"
	"errors"
	"hash/crc32"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/haftdev/haft/internal/search/index"
	"github.com/haftdev/haft/internal/search/rx"
	"github.com/haftdev/haft/internal/search/tree"
)

// indexer builds the index of one tree in the background. The zero value has no
// index.
type indexer struct {
	mu      sync.Mutex
	index   *index.Index
	running chan struct{} // closed when the pass under way ends; nil if none is
	covered uint32        // the tree's last file ID when the last pass began
	stored  *record       // signatures that were saved, until the first query needs them

	// What was saved last: the tree's last ID and the number of signatures.
	written        bool
	writtenID      uint32
	writtenColumns int
}

// currentLocked gives the index, nil if there is none yet. Callers hold the lock.
func (x *indexer) currentLocked() *index.Index {
	if x.stored != nil {
		x.index, x.stored = x.stored.index(), nil
		x.written = x.index != nil // else it is damaged, and replaced
	}
	return x.index
}

// index reads the signatures, nil if there are none or they are damaged, and closes the
// record.
func (r *record) index() *index.Index {
	if r == nil {
		return nil
	}
	defer r.close()
	words, raw := index.Words(r.size)
	if _, err := r.file.ReadAt(raw, r.at); err != nil || crc32.Checksum(raw, castagnoli()) != r.sum {
		return nil
	}
	x, err := index.Load(words, raw, r.signed)
	if err != nil {
		return nil
	}
	return x
}

const (
	indexFrom   = 200      // files; fewer are read as fast as they are looked up
	maxIndexed  = 32 << 20 // bytes; a larger file is always read
	groupBytes  = 4 << 20  // of text in a group before it falls back to a small one
	staleGrowth = 64       // new versions before another pass

	// firstGeneration is another than that of an index which was read: places in that
	// mean nothing to one that had to be made because it was damaged.
	firstGeneration = 2
)

// wait waits for the pass under way to end.
func (x *indexer) wait() {
	x.mu.Lock()
	done := x.running
	x.mu.Unlock()
	if done != nil {
		<-done
	}
}

// candidates gives a test for the files that p may match, or nil if there is no
// index or p says too little.
func (x *indexer) candidates(p *rx.Pattern) func(*tree.File) bool {
	x.mu.Lock()
	idx := x.currentLocked()
	x.mu.Unlock()
	if idx == nil {
		return nil
	}
	set := idx.Candidates(p.Required())
	if set == nil {
		return nil
	}
	return func(f *tree.File) bool { return set.Has(&f.Slot) }
}

// startIndex indexes what changed since the last pass, if it is enough to matter
// and no pass is under way.
func (ts *trees) startIndex(k *kept) {
	if ts.opts.NoIndex {
		return
	}
	files, _, _ := k.tree.Size()
	last := k.tree.LastID()
	x := &k.index
	x.mu.Lock()
	defer x.mu.Unlock()
	x.currentLocked()
	if x.running != nil || files < ts.opts.IndexFrom || x.index != nil && last-x.covered < max(staleGrowth, uint32(files/50)) {
		return
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.closed {
		return
	}
	// Signatures of versions that are gone stay until they are as many as the rest.
	if x.index == nil {
		x.index = index.New(firstGeneration)
	} else if _, columns := x.index.Size(); columns > 2*files+1000 {
		x.index = x.index.Next()
	}
	done := make(chan struct{})
	x.running, x.covered = done, last
	idx := x.index
	ts.group.Go(func() {
		ts.indexFiles(idx, k)
		if ts.life.Err() == nil { // else it is saved as the tree is closed
			ts.save(ts.life, k)
		}
		x.mu.Lock()
		x.running = nil
		x.mu.Unlock()
		close(done)
	})
}

// indexFiles adds every file that idx does not know, with as many goroutines as a
// query has: the sooner it is done, the fewer queries read everything. Small files
// come first: they are done soonest, and files of one size share a block well.
func (ts *trees) indexFiles(idx *index.Index, k *kept) {
	todo := slices.DeleteFunc(slices.Clone(k.tree.Files(k.root)), func(f *tree.File) bool {
		return f.Unsteady || f.Ignored || f.Size > maxIndexed || idx.Known(&f.Slot) || ts.private(f.Path)
	})
	slices.SortFunc(todo, func(a, b *tree.File) int { return cmp.Compare(a.Size, b.Size) })
	groups := groupFiles(todo)
	var next atomic.Int64
	work := func() {
		stop := func() bool { return ts.life.Err() != nil }
		w := &indexWorker{idx: idx, saved: ts.opts.Saved != "", r: reader{max: maxIndexed, stop: stop, shortIsEnd: k.local, legacy: ts.opts.Decode}}
		defer w.r.close()
		for i := next.Add(1) - 1; i < int64(len(groups)) && !stop(); i = next.Add(1) - 1 {
			w.add(groups[i])
		}
	}
	var helpers sync.WaitGroup
	for range min(ts.opts.Workers, len(groups)) - 1 {
		helpers.Go(work)
	}
	work()
	helpers.Wait()
}

func (ts *trees) private(path string) bool {
	return ts.opts.Saved != "" && ts.opts.Private != nil && ts.opts.Private(path)
}

// groupFiles cuts files, in order of size, into groups that share a block.
func groupFiles(files []*tree.File) (groups [][]*tree.File) {
	start, bytes := 0, int64(0)
	for i, f := range files {
		bytes += f.Size
		if n := i + 1 - start; n == index.Group || bytes > groupBytes && n >= index.Small {
			groups = append(groups, files[start:i+1])
			start, bytes = i+1, 0
		}
	}
	if start < len(files) {
		groups = append(groups, files[start:])
	}
	return groups
}

// indexWorker signs groups of files, for one goroutine.
type indexWorker struct {
	idx   *index.Index
	r     reader
	grams index.Grams
	saved bool // for other processes, which may read legacy encodings otherwise
}

func (w *indexWorker) add(files []*tree.File) {
	var docs []index.Doc
	for _, f := range files {
		text, err := w.r.read(f.Path)
		if errors.Is(err, errBinary) {
			text, err = nil, nil // never matches, so nothing need be found in it
		}
		if err != nil || !w.r.lasting() || w.saved && w.r.last.Text != nil || !index.Steady(text) {
			continue // stays without a slot and is always read
		}
		docs = append(docs, index.Doc{Grams: slices.Clone(w.grams.Of(text)), Size: len(text), Slot: &f.Slot})
	}
	for len(docs) > index.Small && len(docs) < index.Group { // between the two sizes: several small ones
		w.idx.Add(docs[:index.Small])
		docs = docs[index.Small:]
	}
	w.idx.Add(docs)
}

// WaitIndexed waits until listing, watching and indexing have finished. It is for tests and
// benchmarks.
func (s *Searcher) WaitIndexed() {
	s.trees.mu.Lock()
	kept := slices.Clone(s.trees.kept)
	s.trees.mu.Unlock()
	for _, k := range kept {
		<-k.ready
		s.trees.mu.Lock()
		watched := k.watched
		s.trees.mu.Unlock()
		if watched != nil {
			<-watched
		}
		k.index.wait()
	}
}

// Memory is the memory that a searcher uses, in bytes.
type Memory struct {
	List       int64 // of files
	Signatures int64 // of their contents
	Texts      int64 // in the cache
}

// Memory returns how much memory the searcher uses now.
func (s *Searcher) Memory() Memory {
	s.trees.mu.Lock()
	kept := slices.Clone(s.trees.kept)
	s.trees.mu.Unlock()
	m := Memory{Texts: s.trees.texts.used.Load()}
	for _, k := range kept {
		<-k.ready
		if k.tree == nil {
			continue
		}
		m.List += k.tree.Memory()
		k.index.mu.Lock()
		if k.index.index != nil {
			n, _ := k.index.index.Size()
			m.Signatures += n
		}
		k.index.mu.Unlock()
	}
	return m
}

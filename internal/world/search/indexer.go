package search

import (
	"errors"
	"slices"
	"sync"

	"github.com/haftdev/haft/internal/world/search/index"
	"github.com/haftdev/haft/internal/world/search/rx"
	"github.com/haftdev/haft/internal/world/search/tree"
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

// forget releases what was saved and never needed.
func (x *indexer) forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stored.close()
	x.stored = nil
}

// recall takes over what was saved of a tree that has been built from it.
func (x *indexer) recall(r *record, t *tree.Tree) {
	if r == nil {
		return
	}
	x.stored, x.written, x.writtenColumns = r, true, r.signed
	x.writtenID = t.LastID() - uint32(t.Unlike())
	x.covered = x.writtenID - min(x.writtenID, uint32(r.list.Pending()))
	r.list = nil
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

// Memory is the memory that a searcher uses, in bytes.
type Memory struct {
	List       int64 // of files
	Signatures int64 // of their contents
	Texts      int64 // in the cache
}

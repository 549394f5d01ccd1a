package search

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/internal/pathin"
	"github.com/haftdev/haft/internal/search/rawfs"
	"github.com/haftdev/haft/internal/search/tree"
	"github.com/haftdev/haft/internal/search/watch"
)

// maxTrees bounds how many directories are remembered at once, and maxKept how
// large one may be: a home directory is not worth watching.
const (
	maxTrees = 4
	maxKept  = 500_000
)

// trees keeps the lists of files of the directories asked about lately.
type trees struct {
	opts   *Options
	mu     sync.Mutex
	kept   []*kept // least recently used first
	closed bool
	texts  budget         // of all caches
	group  sync.WaitGroup // background work, which ends soon after life does
	life   context.Context
	end    context.CancelFunc
}

// kept is one remembered directory.
type kept struct {
	root  string
	ready chan struct{} // closed when tree is set
	tree  *tree.Tree    // nil if the directory cannot be kept
	local bool
	index indexer

	watching atomic.Bool   // Watch was or is about to be called
	watched  chan struct{} // closed when it is done; nil before it began; under trees.mu
	cache    *cache
}

// view is a current list of files.
type view struct {
	*kept
	files []*tree.File
}

// view gives the files at and below path, newest first, or nil if nothing is kept
// that covers it. It builds the list of dir when path is dir itself; otherwise it
// starts building it for later queries, since walking a large tree to search one
// small part of it would be the wrong way round.
func (ts *trees) view(ctx context.Context, dir, path string) (*view, error) {
	dir = covering(dir, path)
	if path != dir {
		ts.prepare(dir, path)
		return ts.made(ctx, dir, path)
	}
	k, mine := ts.get(dir)
	if k == nil {
		return nil, nil
	}
	if mine {
		ts.build(ctx, k)
		if k.tree != nil { // which began after the question did
			return &view{k, k.tree.Files(path)}, nil
		}
	}
	select {
	case <-k.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return ts.current(ctx, k, path)
}

// made is view without building: nil if the list is not there yet.
func (ts *trees) made(ctx context.Context, dir, path string) (*view, error) {
	k := ts.find(covering(dir, path))
	if k == nil {
		return nil, nil
	}
	select {
	case <-k.ready:
		return ts.current(ctx, k, path)
	default:
		return nil, nil
	}
}

// prepare starts building the list that covers path, unless there is one.
func (ts *trees) prepare(dir, path string) {
	k, mine := ts.get(covering(dir, path))
	if !mine {
		return
	}
	ts.mu.Lock()
	if ts.closed {
		ts.mu.Unlock()
		ts.build(ts.life, k) // which has ended: it only says that there is no list
		return
	}
	ts.group.Add(1) // under the lock, so that close waits for it
	ts.mu.Unlock()
	go func() {
		defer ts.group.Done()
		ts.build(ts.life, k)
		ts.startWatch(k)
	}()
}

// covering is the directory whose list holds path.
func covering(dir, path string) string {
	if pathin.Contains(dir, path) {
		return dir
	}
	return path
}

// current brings the part of a list at path up to date.
func (ts *trees) current(ctx context.Context, k *kept, path string) (*view, error) {
	if k.tree == nil {
		return nil, nil // walking afresh also gives the error, if there is one
	}
	files, known, err := k.tree.View(ctx, path)
	if err != nil {
		ts.drop(k)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, nil
	}
	if !known {
		return nil, nil
	}
	return &view{k, files}, nil
}

// find gives the entry for dir, or nil, and notes that it was wanted.
func (ts *trees) find(dir string) *kept {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.findLocked(dir)
}

func (ts *trees) findLocked(dir string) *kept {
	i := slices.IndexFunc(ts.kept, func(k *kept) bool { return k.root == dir })
	if i < 0 {
		return nil
	}
	k := ts.kept[i]
	ts.kept = append(slices.Delete(ts.kept, i, i+1), k)
	return k
}

// get finds the entry for dir or makes one, which the caller then has to build. It is
// nil if nothing is kept at all.
func (ts *trees) get(dir string) (k *kept, mine bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.closed || ts.opts.Stateless {
		return nil, false
	}
	if k = ts.findLocked(dir); k != nil {
		return k, false
	}
	k = &kept{root: dir, ready: make(chan struct{})}
	ts.kept = append(ts.kept, k)
	if len(ts.kept) > maxTrees {
		old := ts.kept[0]
		ts.kept = ts.kept[1:]
		ts.retire(old)
	}
	return k, true
}

// retire closes an entry that is no longer listed, once it is built.
func (ts *trees) retire(k *kept) {
	ts.group.Go(func() {
		<-k.ready
		if k.tree == nil {
			return
		}
		k.index.wait()
		ctx, cancel := context.WithTimeout(context.Background(), saveTime)
		ts.save(ctx, k)
		cancel()
		k.index.forget()
		k.tree.Close()
		k.cache.clear()
	})
}

// forget releases what was saved and never needed.
func (x *indexer) forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stored.close()
	x.stored = nil
}

// saveTime bounds how long the end waits for a list to be brought up to date and saved.
const saveTime = 5 * time.Second

// drop forgets an entry that went wrong.
func (ts *trees) drop(k *kept) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if i := slices.Index(ts.kept, k); i >= 0 {
		ts.kept = slices.Delete(ts.kept, i, i+1)
		ts.retire(k)
	}
}

func (ts *trees) build(ctx context.Context, k *kept) {
	defer close(k.ready)
	k.local = rawfs.Local(k.root)
	k.cache = newCache(&ts.texts)
	var saved *tree.Saved
	rec := ts.loadLocal(k.root)
	var w tree.Watcher
	if rec != nil {
		saved = rec.list // most of the time would go into watching, which can wait for the answer
	} else {
		w = ts.watcher(k)
	}
	t, err := tree.Build(ctx, k.root, &tree.Options{
		Stat: true, Watcher: w, Dropped: k.cache.drop, Global: ts.opts.Global, MaxFiles: maxKept, Workers: ts.opts.Workers, Saved: saved,
	})
	if err != nil {
		rec.close()
		ts.drop(k)
		return
	}
	if _, _, full := t.Size(); full {
		rec.close()
		t.Close() // k stays, so that the attempt is not repeated
		return
	}
	t.Files(k.root) // puts them in order now, not in the first query
	k.index.recall(rec, t)
	k.tree = t
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

// watcher gives one for the tree, nil if it cannot be watched: then every query looks at
// every file.
func (ts *trees) watcher(k *kept) tree.Watcher {
	if !k.local || ts.opts.NoWatch {
		return nil
	}
	w, err := watch.New()
	if err != nil {
		return nil
	}
	return w
}

// startWatch has a tree that was built without a watcher watched, in the background.
func (ts *trees) startWatch(k *kept) {
	if k.tree == nil || k.tree.Watched() || !k.watching.CompareAndSwap(false, true) {
		return
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.closed {
		return
	}
	k.watched = make(chan struct{})
	ts.group.Go(func() {
		defer close(k.watched)
		if w := ts.watcher(k); w != nil && k.tree.Watch(ts.life, w) != nil {
			ts.drop(k)
		}
	})
}

func (ts *trees) close() {
	ts.end()
	ts.mu.Lock()
	ts.closed = true
	for _, k := range ts.kept {
		ts.retire(k)
	}
	ts.kept = nil
	ts.mu.Unlock()
	ts.group.Wait()
}

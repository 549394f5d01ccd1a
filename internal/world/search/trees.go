package search

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/internal/world/search/index"
	"github.com/haftdev/haft/internal/world/search/rawfs"
	"github.com/haftdev/haft/internal/world/search/tree"
	"github.com/haftdev/haft/internal/world/search/watch"
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

// path is the file of a tree.
func (ts *trees) path(root string) string {
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(ts.opts.Saved, hex.EncodeToString(sum[:16])+savedSuffix)
}

// saved reports whether something was saved of a tree.
func (ts *trees) saved(root string) bool {
	if ts.opts.Saved == "" {
		return false
	}
	_, err := os.Lstat(ts.path(root))
	return err == nil
}

// load reads what was saved of a tree, nil if nothing was or it is damaged. The caller
// closes it.
func (ts *trees) load(root string) *record {
	if ts.opts.Saved == "" {
		return nil
	}
	f, err := regular.Open(ts.path(root))
	if err != nil {
		return nil
	}
	r, err := readRecord(f, root, ts.opts.SavedBytes)
	if err != nil {
		f.Close()
		os.Remove(ts.path(root)) // it is made again
		return nil
	}
	// Those that are used least are deleted first.
	if info, err := f.Stat(); err == nil && time.Since(info.ModTime()).Abs() > time.Hour {
		os.Chtimes(ts.path(root), time.Time{}, time.Now())
	}
	return r
}

var errRecord = errors.New("not a saved index")

func readRecord(f *os.File, root string, limit int64) (*record, error) {
	var head [savedHeader]byte
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return nil, err
	}
	word := func(at int) uint32 { return binary.LittleEndian.Uint32(head[at:]) }
	if string(head[:8]) != savedMagic || word(8) != savedVersion || crc32.Checksum(head[:44], castagnoli()) != word(44) {
		return nil, errRecord
	}
	rootSize, listSize, indexSize := int64(word(12)), int64(binary.LittleEndian.Uint64(head[16:])), int64(binary.LittleEndian.Uint64(head[24:]))
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r := &record{file: f, at: aligned(savedHeader + rootSize + listSize), size: int(indexSize), sum: word(36)}
	if min(rootSize, listSize, indexSize) < 0 || max(rootSize, listSize, indexSize) > limit || info.Size() != r.at+indexSize {
		return nil, errRecord
	}
	raw := make([]byte, rootSize+listSize)
	if _, err := f.ReadAt(raw, savedHeader); err != nil {
		return nil, err
	}
	if crc32.Checksum(raw, castagnoli()) != word(32) || string(raw[:rootSize]) != root {
		return nil, errRecord
	}
	if r.list, err = tree.ReadSaved(raw[rootSize:]); err != nil {
		return nil, err
	}
	r.signed = r.list.Signed()
	return r, nil
}

// loadLocal loads what was saved of a tree whose file system tells reliably that
// something has changed.
func (ts *trees) loadLocal(root string) *record {
	if ts.opts.Stateless || !ts.saved(root) || !rawfs.Local(root) {
		return nil
	}
	return ts.load(root)
}

// aligned is where the signatures begin.
func aligned(n int64) int64 { return (n + 7) &^ 7 }

// save writes what is known of a tree, if that has changed enough since it was last
// written. What fails is tried again another time.
func (ts *trees) save(ctx context.Context, k *kept) {
	if ts.opts.Saved == "" || k.tree == nil || !k.local || ts.opts.Saves != nil && !ts.opts.Saves() {
		return
	}
	idx, due := ts.due(k)
	if !due {
		return
	}
	if err := ts.write(ctx, k, idx); err != nil {
		k.index.mu.Lock()
		k.index.written = false
		k.index.mu.Unlock()
	}
}

// due reports whether a tree is to be saved now, which it then takes for done.
func (ts *trees) due(k *kept) (*index.Index, bool) {
	files, _, _ := k.tree.Size()
	last, enough := k.tree.LastID(), max(staleGrowth, files/50)
	x := &k.index
	x.mu.Lock()
	defer x.mu.Unlock()
	if files < ts.opts.IndexFrom {
		return nil, false
	}
	changed := !x.written || int(last-x.writtenID) >= enough || ts.opts.saveAlways
	if x.stored != nil && !changed {
		return nil, false
	}
	idx, columns := x.currentLocked(), 0
	if idx != nil {
		_, columns = idx.Size()
	}
	if !changed && columns-x.writtenColumns < enough {
		return nil, false
	}
	x.written, x.writtenID, x.writtenColumns = true, last, columns
	return idx, true
}

func (ts *trees) write(ctx context.Context, k *kept, idx *index.Index) error {
	var snap index.Snapshot
	if idx != nil {
		snap = idx.Snapshot()
	}
	list, places, err := k.tree.Save(ctx, idx, snap)
	if err != nil {
		return err
	}
	out := make([]byte, savedHeader, savedHeader+len(k.root)+len(list)+8)
	out = append(append(out, k.root...), list...)
	listSum := crc32.Checksum(out[savedHeader:], castagnoli())
	out = append(out, make([]byte, aligned(int64(len(out)))-int64(len(out)))...)
	start := len(out)
	out = snap.AppendTo(out, places)
	if int64(len(out)) > ts.opts.SavedBytes {
		return fmt.Errorf("save index: it has %d bytes", len(out))
	}
	copy(out, savedMagic)
	binary.LittleEndian.PutUint32(out[8:], savedVersion)
	binary.LittleEndian.PutUint32(out[12:], uint32(len(k.root)))
	binary.LittleEndian.PutUint64(out[16:], uint64(len(list)))
	binary.LittleEndian.PutUint64(out[24:], uint64(len(out)-start))
	binary.LittleEndian.PutUint32(out[32:], listSum)
	binary.LittleEndian.PutUint32(out[36:], crc32.Checksum(out[start:], castagnoli()))
	binary.LittleEndian.PutUint32(out[44:], crc32.Checksum(out[:44], castagnoli()))
	if err := replace(ts.path(k.root), out); err != nil {
		return err
	}
	return bound(ts.opts.Saved, ts.opts.SavedBytes)
}

// replace puts a file in the place of another. It need not survive a power failure: what
// is not whole is not used.
func replace(path string, content []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "*.new") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

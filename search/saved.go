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
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/regular"
	"github.com/haftdev/haft/internal/search/index"
	"github.com/haftdev/haft/internal/search/rawfs"
	"github.com/haftdev/haft/internal/search/tree"
)

// What a searcher knows of a tree is saved for the next process, one file for each tree in
// Options.Saved. A file is replaced as a whole, so that processes that write the same one
// do not disturb each other or those that read it, and its checksums say whether it is
// whole. It may be deleted at any time. Nothing in it is believed of a file or directory
// that is not, by all that the file system says about it, as it was (package tree).

const (
	savedSuffix  = ".index"
	savedMagic   = "haftidx\x00"
	savedVersion = 1 // also of what signatures are made of: grams, and how texts are decoded
	savedHeader  = 48
	savedBytes   = 512 << 20
	// staleNew is how long a file that was being written stays: who wrote it is gone.
	staleNew = time.Hour
)

// castagnoli is made when the first index is read or written: 0.1 ms that a start without one does not pay.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// record is what was saved of a tree: its list, and where its signatures are.
type record struct {
	list   *tree.Saved
	file   *os.File // read once more, for the signatures
	at     int64
	size   int
	sum    uint32
	signed int
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

func (r *record) close() {
	if r != nil {
		r.file.Close()
	}
}

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

// bound deletes what was not used for the longest time until the rest has no more than
// limit bytes, and what a process left that was killed as it wrote.
func bound(dir string, limit int64) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var kept []fs.FileInfo
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		switch {
		case strings.HasSuffix(e.Name(), savedSuffix):
			kept, total = append(kept, info), total+info.Size()
		case strings.HasSuffix(e.Name(), ".new") && time.Since(info.ModTime()).Abs() > staleNew:
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	slices.SortFunc(kept, func(a, b fs.FileInfo) int { return cmp.Compare(a.ModTime().UnixNano(), b.ModTime().UnixNano()) })
	for _, info := range kept {
		if total <= limit {
			break
		}
		if err := os.Remove(filepath.Join(dir, info.Name())); err == nil {
			total -= info.Size()
		}
	}
	return nil
}

// A SavedIndex describes the saved index of one tree.
type SavedIndex struct {
	Path  string `json:"path"`  // of the file
	Root  string `json:"root"`  // of the tree, "" if the file is damaged
	Bytes int64  `json:"bytes"` // of the file
}

// SavedIndexes lists the indexes in a folder given as Options.Saved. A folder that does not
// exist has none.
func SavedIndexes(dir string) ([]SavedIndex, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []SavedIndex
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(e.Name(), savedSuffix) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		out = append(out, SavedIndex{path, rootOf(path), info.Size()})
	}
	return out, nil
}

// rootOf reads the root of the tree that a file is about.
func rootOf(path string) string {
	raw, _, err := regular.Head(path, savedHeader+4096)
	if err != nil || len(raw) < savedHeader || string(raw[:8]) != savedMagic {
		return ""
	}
	n := binary.LittleEndian.Uint32(raw[12:])
	if raw = raw[savedHeader:]; uint64(n) > uint64(len(raw)) {
		return ""
	}
	return string(raw[:n])
}

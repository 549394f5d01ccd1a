package search

import (
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/internal/world/search/index"
	"github.com/haftdev/haft/internal/world/search/tree"
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

func (r *record) close() {
	if r != nil {
		r.file.Close()
	}
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

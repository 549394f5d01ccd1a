package blob

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// A pack holds many small contents in one file, where a file for each would take a
// block of the disk and an inode: the contents one after the other, an index sorted by
// digest, and a trailer that says where the index is. It gets its name when it is
// whole and is never changed.
const (
	packFolder  = "packs"
	packSuffix  = ".pack"
	packMagic   = "haftpk01"
	indexEntry  = sha256.Size + 8 + 4 // digest, offset, length
	packTrailer = 8 + 4 + sha256.Size + len(packMagic)

	// Small is the size up to which contents are worth packing.
	Small = 64 << 10
)

type packed struct {
	digest [sha256.Size]byte
	offset int64
	length uint32
}

// A Pack is being written. It is safe for concurrent use.
type Pack struct {
	dir  Dir
	mu   sync.Mutex
	file *os.File
	at   int64
	list []packed
	have map[[sha256.Size]byte]string // the pack that has it; "" is this one
	held map[string]bool              // by pack: whether what it has can be relied on
}

// NewPack begins a pack. What the packs of d already hold is not written again.
func (d Dir) NewPack() (*Pack, error) {
	folder := filepath.Join(string(d), packFolder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("keep contents: %w", err)
	}
	file, err := os.CreateTemp(folder, ".new-*")
	if err != nil {
		return nil, fmt.Errorf("keep contents: %w", err)
	}
	p := &Pack{dir: d, file: file, have: map[[sha256.Size]byte]string{}, held: map[string]bool{"": true}}
	for _, path := range d.packs() {
		for _, e := range readIndex(path) {
			p.have[e.digest] = path
		}
	}
	return p, nil
}

// Add adds a content. It is available when the pack is closed.
func (p *Pack) Add(digest string, b []byte) error {
	key, err := parseDigest(digest)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if pack, ok := p.have[key]; ok && p.hold(pack) {
		return nil
	}
	if _, err := p.file.Write(b); err != nil {
		return fmt.Errorf("keep contents: %w", err)
	}
	p.have[key] = ""
	p.list = append(p.list, packed{key, p.at, uint32(len(b))})
	p.at += int64(len(b))
	return nil
}

// hold keeps a sweep from deleting another pack whose contents are not written again.
func (p *Pack) hold(pack string) bool {
	ok, known := p.held[pack]
	if !known {
		ok = renew(pack)
		p.held[pack] = ok
	}
	return ok
}

// Discard drops the pack.
func (p *Pack) Discard() {
	p.file.Close()
	os.Remove(p.file.Name())
}

// Close makes the contents available. A pack without any leaves nothing.
func (p *Pack) Close() error {
	if len(p.list) == 0 {
		p.Discard()
		return nil
	}
	slices.SortFunc(p.list, func(a, b packed) int { return bytes.Compare(a.digest[:], b.digest[:]) })
	index := make([]byte, 0, len(p.list)*indexEntry)
	for _, e := range p.list {
		index = append(index, e.digest[:]...)
		index = binary.BigEndian.AppendUint64(index, uint64(e.offset))
		index = binary.BigEndian.AppendUint32(index, e.length)
	}
	sum := sha256.Sum256(index)
	trailer := binary.BigEndian.AppendUint64(nil, uint64(p.at))
	trailer = binary.BigEndian.AppendUint32(trailer, uint32(len(p.list)))
	trailer = append(append(trailer, sum[:]...), packMagic...)
	_, err := p.file.Write(append(index, trailer...))
	name := filepath.Join(string(p.dir), packFolder, hex.EncodeToString(sum[:16])+packSuffix)
	if err = errors.Join(err, p.file.Close()); err == nil {
		err = os.Rename(p.file.Name(), name)
	}
	if err != nil {
		os.Remove(p.file.Name())
		return fmt.Errorf("keep contents: %w", err)
	}
	return nil
}

func parseDigest(digest string) (key [sha256.Size]byte, err error) {
	b, err := hex.DecodeString(digest)
	if err != nil || len(b) != sha256.Size {
		return key, fmt.Errorf("%q is not a digest", digest)
	}
	return [sha256.Size]byte(b), nil
}

func (d Dir) packs() []string {
	entries, _ := os.ReadDir(filepath.Join(string(d), packFolder)) // none if it cannot be read: contents are then missing, which is said
	var out []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == packSuffix {
			out = append(out, filepath.Join(string(d), packFolder, e.Name()))
		}
	}
	return out
}

// readIndex returns what a pack holds; nothing if it is damaged.
func readIndex(path string) []packed {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	start, count, sum, err := readTrailer(file)
	if err != nil {
		return nil
	}
	raw := make([]byte, count*indexEntry)
	if _, err := file.ReadAt(raw, start); err != nil || sha256.Sum256(raw) != sum {
		return nil
	}
	list := make([]packed, count)
	for i := range list {
		list[i] = entryAt(raw[i*indexEntry:])
	}
	return list
}

func entryAt(raw []byte) packed {
	return packed{[sha256.Size]byte(raw[:sha256.Size]), int64(binary.BigEndian.Uint64(raw[sha256.Size:])), binary.BigEndian.Uint32(raw[sha256.Size+8:])}
}

// readTrailer returns where the index of a pack is, and its hash.
func readTrailer(file *os.File) (start int64, count int, sum [sha256.Size]byte, err error) {
	info, err := file.Stat()
	if err != nil {
		return 0, 0, sum, err
	}
	raw := make([]byte, packTrailer)
	end := info.Size() - int64(packTrailer)
	if end < 0 {
		return 0, 0, sum, fs.ErrInvalid
	}
	if _, err := file.ReadAt(raw, end); err != nil {
		return 0, 0, sum, err
	}
	start, count = int64(binary.BigEndian.Uint64(raw)), int(binary.BigEndian.Uint32(raw[8:]))
	copy(sum[:], raw[12:])
	if string(raw[12+sha256.Size:]) != packMagic || start < 0 || start > end || end-start != int64(count)*indexEntry {
		return 0, 0, sum, fs.ErrInvalid
	}
	return start, count, sum, nil
}

// getPacked returns a content out of the packs.
func (d Dir) getPacked(digest string) ([]byte, error) {
	key, err := parseDigest(digest)
	if err != nil {
		return nil, err
	}
	for _, path := range d.packs() {
		b, err := findPacked(path, key)
		if err == nil {
			return b, nil
		}
	}
	return nil, fmt.Errorf("find the stored content %s: %w", digest, fs.ErrNotExist)
}

// findPacked looks a content up without reading the whole index.
func findPacked(path string, key [sha256.Size]byte) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	start, count, _, err := readTrailer(file)
	if err != nil {
		return nil, err
	}
	raw := make([]byte, indexEntry)
	low, high := 0, count
	for low < high {
		middle := (low + high) / 2
		if _, err := file.ReadAt(raw, start+int64(middle)*indexEntry); err != nil {
			return nil, err
		}
		e := entryAt(raw)
		switch order := bytes.Compare(e.digest[:], key[:]); {
		case order < 0:
			low = middle + 1
		case order > 0:
			high = middle
		default:
			return readPacked(file, e, start)
		}
	}
	return nil, fs.ErrNotExist
}

// readPacked returns a content if it is what its name says.
func readPacked(file io.ReaderAt, e packed, end int64) ([]byte, error) {
	if e.offset < 0 || e.offset+int64(e.length) > end {
		return nil, fs.ErrInvalid
	}
	b := make([]byte, e.length)
	if _, err := file.ReadAt(b, e.offset); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if sha256.Sum256(b) != e.digest {
		return nil, fs.ErrInvalid
	}
	return b, nil
}

// Package blob keeps contents by their hash, so that what a write replaced can be restored.
//
// Trust model: blobs hold whatever the files held, secrets included; Dir keeps them from other users by mode and checks every
// blob it gives out against its name.
//
// A Store is the seam: sessions bring their own, Dir keeps blobs as files, two levels deep, each written once, and many small
// ones in a [Pack]. Blobs are never changed; [Dir.Sweep] deletes those that its caller does not need. Implementations are safe
// for concurrent use, by several processes too.
package blob

import (
	"bytes"
	"cmp"
	"context"
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
	"time"
)

// Store keeps contents.
type Store interface {
	// Put keeps b under its Digest, which the caller has at hand.
	Put(ctx context.Context, digest string, b []byte) error
	// Get returns a content, or an error that is fs.ErrNotExist.
	Get(ctx context.Context, digest string) ([]byte, error)
}

// Digest names a content.
func Digest(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// Dir is a Store in a directory, which is made when first needed.
type Dir string

func (d Dir) path(digest string) (string, error) {
	if b, err := hex.DecodeString(digest); err != nil || len(b) != sha256.Size {
		return "", fmt.Errorf("%q is not a digest", digest)
	}
	return filepath.Join(string(d), digest[:2], digest[2:]), nil
}

// Put implements Store. A blob that is there is not written again. It is not synced: losing the way back is no reason to make
// every edit wait for the disk.
func (d Dir) Put(_ context.Context, digest string, b []byte) error {
	return d.put(digest, int64(len(b)), func(to *os.File) error {
		_, err := to.Write(b)
		return err
	})
}

// PutFile keeps the content of an open file, which the caller has read: by sharing its blocks where the file system can
// (reflinks), else as Put does.
func (d Dir) PutFile(_ context.Context, digest string, from *os.File, b []byte) error {
	return d.put(digest, int64(len(b)), func(to *os.File) error {
		if info, err := from.Stat(); err == nil && info.Size() == int64(len(b)) && clone(to, from) == nil {
			return nil // Get finds out if the file was changed meanwhile
		}
		_, err := to.Write(b)
		return err
	})
}

func (d Dir) put(digest string, size int64, fill func(*os.File) error) error {
	path, err := d.path(digest)
	if err != nil {
		return err
	}
	if info, err := os.Lstat(path); err == nil && info.Size() == size && renew(path) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("store content: %w", err)
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("store content: %w", err)
	}
	err = fill(temp)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		os.Remove(temp.Name())
		return fmt.Errorf("store content: %w", err)
	}
	return nil
}

// renew makes a file young, so that a sweep that has begun without knowing who needs it now leaves it. False means that the
// sweep was faster.
func renew(path string) bool {
	now := time.Now()
	return os.Chtimes(path, now, now) == nil
}

// Get implements Store. A damaged blob is an error, not a content.
func (d Dir) Get(_ context.Context, digest string) ([]byte, error) {
	path, err := d.path(digest)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return d.getPacked(digest)
	}
	if err != nil {
		return nil, fmt.Errorf("find stored content: %w", err)
	}
	if Digest(b) != digest {
		return nil, fmt.Errorf("the stored content %s is damaged: %w", digest, fs.ErrInvalid)
	}
	return b, nil
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

// Sweep deletes the contents that are not wanted.
func (d Dir) Sweep(ctx context.Context, o *SweepOptions) (Swept, error) {
	var s Swept
	err := filepath.WalkDir(string(d), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || e.IsDir() {
			return errors.Join(err, ctx.Err())
		}
		if filepath.Ext(path) == packSuffix {
			return d.sweepPack(ctx, path, o, &s)
		}
		info, err := e.Info()
		if err != nil || o.Wanted(filepath.Base(filepath.Dir(path))+e.Name()) || o.young(info) {
			return err
		}
		s.Blobs++
		s.Bytes += info.Size()
		if o.DryRun {
			return nil
		}
		return os.Remove(path)
	})
	return s, err
}

// sweepPack deletes a pack that nobody needs, and writes one again of which less than
// half is needed.
func (d Dir) sweepPack(ctx context.Context, path string, o *SweepOptions, s *Swept) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	list := readIndex(path) // nothing of a damaged one is available, so that it goes
	var needed []packed
	var bytesNeeded int64
	for _, e := range list {
		if o.Wanted(hex.EncodeToString(e.digest[:])) {
			needed = append(needed, e)
			bytesNeeded += int64(e.length)
		}
	}
	unneeded := len(list) - len(needed)
	if o.young(info) || len(needed) > 0 && bytesNeeded*2 > info.Size() {
		return nil
	}
	s.Blobs += unneeded
	s.Bytes += info.Size() - bytesNeeded
	if o.DryRun {
		return nil
	}
	if err := d.rescue(ctx, path, needed); err != nil {
		return err
	}
	return os.Remove(path)
}

// rescue writes what is needed of a pack that is about to go.
func (d Dir) rescue(ctx context.Context, path string, needed []packed) error {
	if len(needed) == 0 {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	end, _, _, err := readTrailer(file)
	if err != nil {
		return err
	}
	p, err := d.NewPack()
	if err != nil {
		return err
	}
	slices.SortFunc(needed, func(a, b packed) int { return cmp.Compare(a.offset, b.offset) })
	for _, e := range needed {
		b, err := readPacked(file, e, end)
		if err != nil {
			continue // damaged: it could not be had in any case
		}
		delete(p.have, e.digest) // in the pack that goes
		if err := errors.Join(p.Add(hex.EncodeToString(e.digest[:]), b), ctx.Err()); err != nil {
			p.Discard()
			return err
		}
	}
	return p.Close()
}

package blob

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
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

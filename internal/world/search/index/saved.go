package index

import (
	"encoding/binary"
	"errors"
	"unsafe"
)

// NoPlace is the place of a file without a signature.
const NoPlace = ^uint32(0)

// loadedGeneration is that of an index which was read from a file.
const loadedGeneration = 1

// A Snapshot is the signatures of an index at one time, to be written to a file.
type Snapshot struct{ blocks []block }

// Holds reports whether a place is in the snapshot.
func (s Snapshot) Holds(place uint32) bool { return place>>6 < uint32(len(s.blocks)) }

// AppendTo encodes the blocks of which one of the places is in use; the others take no
// room but keep their numbers. A table with a word for each block (its rows, and in the top bit
// whether it is narrow) comes first, then the rows, each block at a multiple of eight
// bytes from the beginning of the section.
func (s Snapshot) AppendTo(b []byte, places []uint32) []byte {
	used := make([]bool, len(s.blocks))
	for _, p := range places {
		if s.Holds(p) {
			used[p>>6] = true
		}
	}
	start := len(b)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(s.blocks)))
	for i, blk := range s.blocks {
		word := uint32(0)
		if used[i] {
			word = blk.rows
			if blk.wide == nil {
				word |= narrowBit
			}
		}
		b = binary.LittleEndian.AppendUint32(b, word)
	}
	for i, blk := range s.blocks {
		for (len(b)-start)%8 != 0 {
			b = append(b, 0)
		}
		if !used[i] {
			continue
		}
		for _, w := range blk.wide {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		b = append(b, blk.narrow...)
	}
	return b
}

const narrowBit = 1 << 31

// Words makes room for an encoded index of n bytes: the words to give to [Load], and the
// same memory as bytes, to be filled.
func Words(n int) (words []uint64, bytes []byte) {
	words = make([]uint64, (n+7)/8)
	if n == 0 {
		return words, nil
	}
	return words, unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), n)
}

var errEncoding = errors.New("not an index")

// Load reads what [Snapshot.AppendTo] encoded, with signatures of so many files, from memory of [Words],
// which the index then shares. It cannot tell one signature from another: the caller checks that the
// bytes are those that were written.
func Load(words []uint64, raw []byte, files int) (*Index, error) {
	if len(raw) < 8 || len(words)*8 < len(raw) {
		return nil, errEncoding
	}
	n := binary.LittleEndian.Uint64(raw)
	if n > maxBlocks || uint64(len(raw)-8) < 4*n {
		return nil, errEncoding
	}
	x := New(loadedGeneration)
	x.blocks, x.columns = make([]block, n), files
	at := 8 + 4*int(n)
	for i := range x.blocks {
		at = (at + 7) &^ 7
		word := binary.LittleEndian.Uint32(raw[8+4*i:])
		b := &x.blocks[i]
		size := int(word&^narrowBit) * 8
		if b.rows = word &^ narrowBit; word&narrowBit != 0 {
			size = int(b.rows)
		}
		if size == 0 {
			continue
		}
		if size > len(raw)-at {
			return nil, errEncoding
		}
		if word&narrowBit != 0 {
			b.narrow = raw[at : at+size : at+size]
		} else {
			b.wide = words[at/8 : at/8+size/8 : at/8+size/8]
			swapOnBigEndian(b.wide)
		}
		at += size
		x.bytes += int64(size)
	}
	return x, nil
}

// swapOnBigEndian makes numbers of words that were read as little-endian bytes.
func swapOnBigEndian(words []uint64) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return
	}
	for i, w := range words {
		var b [8]byte
		binary.NativeEndian.PutUint64(b[:], w)
		words[i] = binary.LittleEndian.Uint64(b[:])
	}
}

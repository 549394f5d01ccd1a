// Package index rules out files that cannot contain a literal, without reading
// them.
//
// It keeps a signature of each file: a column of bits in a block that up to 64 files
// share, where every gram (package-internal: three characters, case folded) sets the
// bit in one row. A query reads the rows of its grams and combines them, 64 files at
// a time. Rows are shared by chance, so a signature may claim too much and never too
// little: the caller reads every file that is not ruled out, and the index cannot
// change an answer.
//
// A file is known by its [Slot], which the caller keeps with the version of the
// file that was indexed. A version without a slot is never ruled out. An Index is
// safe for concurrent use.
package index

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/haftdev/haft/internal/world/search/rx"
)

// Slot is where a file's signature is. The zero value is nowhere. It is safe for
// concurrent use and must not be copied once used.
type Slot struct {
	v uint64 // generation of the index, then place in it; atomic
}

// Restore makes the slot that of a signature at a place of an index whose first
// generation was read by [Load]. Nobody else may use the slot yet.
func (s *Slot) Restore(place uint32) { s.v = loadedGeneration<<32 | uint64(place) }

// Index is a set of signatures. Make one with [New].
type Index struct {
	generation uint32
	mu         sync.RWMutex
	blocks     []block
	bytes      int64
	columns    int
}

// New makes an empty index. Slots of an index with another generation mean nothing
// to it; generations count from 1.
func New(generation uint32) *Index { return &Index{generation: generation} }

// Known reports whether the file has a signature in x.
func (x *Index) Known(s *Slot) bool {
	return uint32(atomic.LoadUint64(&s.v)>>32) == x.generation
}

// block holds the signatures of as many files as its words have bits.
type block struct {
	rows   uint32
	wide   []uint64 // 64 files
	narrow []uint8  // or 8
}

func (b *block) row(g uint32) uint64 {
	r := uint64(g*0x9E3779B1) * uint64(b.rows) >> 32
	if b.wide != nil {
		return b.wide[r]
	}
	return uint64(b.narrow[r])
}

// Doc is a file to be added: its grams and where to note its place.
type Doc struct {
	Grams []uint32
	Size  int // of the text
	Slot  *Slot
}

// Group is the number of files that are best added together, and small the number
// to fall back to when they are large.
const (
	Group = 64
	Small = 8
)

// maxBlocks is what a Slot can number.
const maxBlocks = 1 << 25

// rowsPerGram and share bound a block: so many rows for each gram of its average
// file, but no more than this share of its text.
const (
	rowsPerGram = 3.5
	share       = 0.2
)

// Add indexes up to Group files as one block. The files should be of similar size.
func (x *Index) Add(docs []Doc) {
	if len(docs) == 0 || len(docs) > Group {
		return
	}
	b := newBlock(docs)
	for col, d := range docs {
		for _, g := range d.Grams {
			r := uint64(g*0x9E3779B1) * uint64(b.rows) >> 32
			if b.wide != nil {
				b.wide[r] |= 1 << col
			} else {
				b.narrow[r] |= 1 << col
			}
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.blocks) >= maxBlocks {
		return
	}
	x.blocks = append(x.blocks, b)
	x.bytes += int64(len(b.wide))*8 + int64(len(b.narrow))
	x.columns += len(docs)
	for col, d := range docs {
		place := uint64(len(x.blocks)-1)<<6 | uint64(col)
		atomic.StoreUint64(&d.Slot.v, uint64(x.generation)<<32|place)
	}
}

func newBlock(docs []Doc) block {
	grams, text, width := 0, 0, 8
	if len(docs) <= Small {
		width = 1
	}
	for _, d := range docs {
		grams += len(d.Grams)
		text += d.Size
	}
	mean := grams/len(docs) + 1
	rows := min(int(rowsPerGram*float64(mean)), max(mean, int(share*float64(text))/width))
	b := block{rows: uint32(max(rows, 64))}
	if width == 8 {
		b.wide = make([]uint64, b.rows)
	} else {
		b.narrow = make([]uint8, b.rows)
	}
	return b
}

// Size gives the memory the signatures take and the number of files.
func (x *Index) Size() (bytes int64, files int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.bytes, x.columns
}

// Steady reports whether the folding of case within text is that of ASCII, which
// is what signatures can express: the Kelvin sign and the long s fold to k and s.
func Steady(text []byte) bool {
	return !bytes.Contains(text, []byte("\u212A")) && !bytes.Contains(text, []byte("\u017F"))
}

// Set is the files that a query cannot rule out.
type Set struct {
	generation uint32
	words      []uint64
}

// Candidates gives the files that may satisfy every clause, or nil if the clauses
// say too little to rule any out.
func (x *Index) Candidates(clauses []rx.Clause) *Set {
	q := newQuery(clauses)
	if len(q) == 0 {
		return nil
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := &Set{x.generation, make([]uint64, len(x.blocks))}
	for i := range x.blocks {
		s.words[i] = q.match(&x.blocks[i])
	}
	return s
}

// Has reports whether the file may match.
func (s *Set) Has(slot *Slot) bool {
	v := atomic.LoadUint64(&slot.v)
	if uint32(v>>32) != s.generation {
		return true
	}
	i := int(uint32(v) >> 6)
	return i >= len(s.words) || s.words[i]>>(v&63)&1 != 0
}

// query is clauses as grams: all of the first level, any of the second, all of the
// third.
type query [][][]uint32

func newQuery(clauses []rx.Clause) query {
	var q query
clauses:
	for _, c := range clauses {
		var any [][]uint32
		for _, l := range c {
			g := gramsOf(l.Text)
			if len(g) == 0 {
				continue clauses
			}
			any = append(any, g)
		}
		q = append(q, any)
	}
	return q
}

// gramsOf gives the grams that any text containing the literal has, or none if it
// is too short to have any.
func gramsOf(literal string) []uint32 {
	var out []uint32
	g := uint32(0)
	for i := range len(literal) {
		g = (g<<6 | uint32(symbols[literal[i]])) & gramMask
		if i >= 2 && !hasBreak(g) && !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	return out
}

func (q query) match(b *block) uint64 {
	if b.rows == 0 {
		return ^uint64(0) // not kept, as no file had its signature here
	}
	word := ^uint64(0)
	for _, any := range q {
		found := uint64(0)
		for _, all := range any {
			w := word
			for _, g := range all {
				if w &= b.row(g); w == 0 {
					break
				}
			}
			found |= w
		}
		if word &= found; word == 0 {
			break
		}
	}
	return word
}

// Next makes an empty index of the following generation, to take the place of x.
func (x *Index) Next() *Index { return New(x.generation + 1) }

// Place is where the file's signature is in x, NoPlace if it has none there.
func (x *Index) Place(s *Slot) uint32 {
	v := atomic.LoadUint64(&s.v)
	if uint32(v>>32) != x.generation {
		return NoPlace
	}
	return uint32(v)
}

// Snapshot gives the signatures that are there now. Places of later ones are not
// within it.
func (x *Index) Snapshot() Snapshot {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return Snapshot{x.blocks[:len(x.blocks):len(x.blocks)]} // blocks never change
}

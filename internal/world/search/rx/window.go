package rx

import (
	"math/bits"
)

// bytesIn is a set of bytes.
type bytesIn [256]bool

// triple is three neighbouring bytes, each one of a set.
type triple [3]bytesIn

// window finds places where one of a few triples occurs, 32 bytes at a time. Every
// match of the pattern contains one, so places without are skipped unread.
type window struct {
	tables [96]byte      // for window3
	masks  [3][256]uint8 // the same, exact, by byte: a bit for each bucket
	either *[6]byte      // for either3: the triples, if they are but one or two and each is three bytes
	rest   []bytesIn     // what follows the triple, if there is one triple
}

// newWindow puts the triples into eight buckets.
func newWindow(triples []triple) *window {
	w := &window{either: eitherOf(triples)}
	for i, t := range triples {
		bucket := uint8(1) << (i % 8)
		for k := range t {
			for c := range t[k] {
				if t[k][c] {
					w.masks[k][c] |= bucket
					w.tables[32*k+c&15] |= bucket
					w.tables[32*k+16+c>>4] |= bucket
				}
			}
		}
	}
	return w
}

// eitherOf gives the bytes of one or two triples that have no choice of bytes.
func eitherOf(triples []triple) *[6]byte {
	if n := len(triples); n == 0 || n > 2 {
		return nil
	}
	var e [6]byte
	for i := range e {
		c, ok := triples[i/3%len(triples)][i%3].single()
		if !ok {
			return nil
		}
		e[i] = c
	}
	return &e
}

// single gives the byte of b if there is only one.
func (b *bytesIn) single() (only byte, ok bool) {
	for c, in := range b {
		if in && ok {
			return 0, false
		}
		if in {
			only, ok = byte(c), true
		}
	}
	return only, ok
}

// vectorSlack is how far window3 and either3 may read beyond the place it looks at.
const vectorSlack = 34

// block is the 32 places that a window looked at last and what is left of them.
type block struct {
	end  int    // of them
	mask uint32 // places that may begin a triple, by their distance from end-32
}

// next gives the first place at from or later that may begin a triple, or len(buf).
// b is empty before the first call on buf, and left alone between calls, each of which
// continues beyond the place that the last one gave.
func (w *window) next(buf []byte, from int, b *block) int {
	for {
		for b.mask != 0 {
			i := b.end - 32 + bits.TrailingZeros32(b.mask)
			b.mask &= b.mask - 1
			if i >= from && w.at(buf, i) {
				return i
			}
		}
		from = max(from, b.end)
		n := len(buf) - vectorSlack - from
		if n <= 0 {
			break
		}
		var i int
		if w.either != nil {
			i, b.mask = either3(&buf[from], n, w.either)
		} else {
			i, b.mask = window3(&buf[from], n, &w.tables)
		}
		if b.end = from + i; b.mask != 0 {
			b.end += 32
		}
	}
	for ; from < len(buf); from++ {
		if w.at(buf, from) {
			return from
		}
	}
	return len(buf)
}

// at decides one place exactly. What lies beyond the end counts as anything.
func (w *window) at(buf []byte, i int) bool {
	m := w.masks[0][buf[i]]
	if i+1 < len(buf) {
		m &= w.masks[1][buf[i+1]]
	}
	if i+2 < len(buf) {
		m &= w.masks[2][buf[i+2]]
	}
	if m == 0 {
		return false
	}
	for k, c := range buf[min(i+3, len(buf)):min(i+3+len(w.rest), len(buf))] {
		if !w.rest[k][c] {
			return false
		}
	}
	return true
}

// anyByte fills a triple that has fewer than three bytes to say something about.
var anyByte = func() (b bytesIn) {
	for c := range b {
		b[c] = true
	}
	return b
}()

// freq estimates how often a byte of b occurs.
func (b *bytesIn) freq() float64 {
	f := 0.0
	for c, in := range b {
		if in {
			f += byteFreq(byte(c), false)
		}
	}
	return min(f, 1)
}

func (t *triple) freq() float64 { return t[0].freq() * t[1].freq() * t[2].freq() }

func firstTriple(run []bytesIn) triple {
	t := triple{anyByte, anyByte, anyByte}
	copy(t[:], run)
	return t
}

// runs walks a pattern and keeps the stretch of single-byte positions that are next
// to each other in every match.
type runs struct {
	run    []bytesIn
	first  bool // run is at the start of the pattern
	best   []bytesIn
	freq   float64 // of the first three of best
	prefix bool    // best is at the start of the pattern
}

const (
	maxRun    = 64
	maxCopies = 16 // of what is repeated
)

func (r *runs) add(n *node) {
	switch n.op {
	case opEmpty:
	case opLook:
		if n.look == lookLineEnd {
			r.run = append(r.run, bytesIn{'\n': true, '\r': true})
			r.flush()
		}
	case opSet, opByte:
		r.addSet(n)
	case opConcat:
		for _, s := range n.subs {
			r.add(s)
		}
	case opRepeat:
		r.addRepeat(n)
	default: // an alternation may be anything
		r.flush()
	}
}

func (r *runs) addSet(n *node) {
	if len(n.set) == 0 {
		r.flush()
		return
	}
	if last := n.set[len(n.set)-1].hi; n.op == opByte || last < 128 {
		var b bytesIn
		for _, s := range n.set {
			for c := s.lo; c <= s.hi; c++ {
				b[c] = true
			}
		}
		r.run = append(r.run, b)
		return
	}
	if n.set.size(1) > 1 {
		r.flush()
		return
	}
	for _, c := range []byte(string(n.set[0].lo)) {
		var b bytesIn
		b[c] = true
		r.run = append(r.run, b)
	}
}

// addRepeat adds the copies that are always there. If there may be more, what comes
// before borders on the first of them and what follows on the last.
func (r *runs) addRepeat(n *node) {
	if n.min == 0 {
		r.flush()
		return
	}
	copies := func() {
		for range min(n.min, maxCopies) {
			r.add(n.subs[0])
		}
	}
	copies()
	if n.max != n.min || n.min > maxCopies {
		r.flush()
		copies()
	}
}

// flush ends a stretch and keeps the part of it that begins with its rarest triple.
func (r *runs) flush() {
	run := r.run[:min(len(r.run), maxRun)]
	for i := range run {
		t := firstTriple(run[i:])
		if f := t.freq(); r.best == nil || f < r.freq {
			r.best, r.freq, r.prefix = run[i:], f, r.first && i == 0
		}
	}
	r.run, r.first = nil, false
}

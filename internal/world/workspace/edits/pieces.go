package edits

import (
	"iter"
	"slices"
)

// pieces says where each byte of a simulated file came from.
type pieces []piece

// piece is a run of n bytes, of the original from offset from, or put there by an edit (by, counted from 1). An edit that
// leaves nothing where text was leaves an empty piece, which marks the seam.
type piece struct{ n, from, by int }

// replacement is a range of the simulated bytes and the length of what takes its place.
type replacement struct {
	Range
	n int
}

// replace returns the pieces after the given replacements, which are ascending and apart.
func (ps pieces) replace(rs []replacement, by int) pieces {
	out := make(pieces, 0, len(ps)+2*len(rs))
	at := 0
	next := func(to int, keep bool) {
		for len(ps) > 0 && at < to {
			head := ps[0]
			if n := to - at; head.n > n {
				ps[0].n -= n
				ps[0].from += n
				head.n = n
			} else {
				ps = ps[1:]
			}
			at += head.n
			if keep {
				out = append(out, head)
			}
		}
	}
	ps = append(pieces(nil), ps...)
	for _, r := range rs {
		next(r.Start, true)
		out = append(out, piece{n: r.n, by: by})
		next(r.End, false)
	}
	return append(out, ps...)
}

// layout is pieces with the offset of each, for many questions about the same state.
type layout struct {
	pieces pieces
	starts []int
}

func (ps pieces) layout() layout {
	l := layout{ps, make([]int, len(ps))}
	at := 0
	for i, p := range ps {
		l.starts[i] = at
		at += p.n
	}
	return l
}

// changed returns what the pieces lack of an original of size n.
func (ps pieces) changed(n int) []Range {
	var out []Range
	at := 0
	for _, p := range append(ps[:len(ps):len(ps)], piece{from: n}) {
		if p.by > 0 {
			continue
		}
		if p.from > at {
			out = append(out, Range{at, p.from})
		}
		at = p.from + p.n
	}
	return out
}

// overlapping yields the pieces that end at or after the range's start and begin at or before its end, with their offsets.
func (l layout) overlapping(r Range) iter.Seq2[int, piece] {
	return func(yield func(int, piece) bool) {
		i, _ := slices.BinarySearch(l.starts, r.Start)
		for i = max(i-1, 0); i < len(l.pieces) && l.starts[i] <= r.End; i++ {
			if !yield(l.starts[i], l.pieces[i]) {
				return
			}
		}
	}
}

// touch says which edit, if any, put bytes or a seam inside the range, and whether the range lies completely in what it put.
func (l layout) touch(r Range) (by int, whole bool) {
	for start, p := range l.overlapping(r) {
		end := start + p.n
		switch {
		case p.by == 0:
		case start < r.End && end > r.Start:
			return p.by, start <= r.Start && r.End <= end
		case p.n == 0 && start > r.Start && start < r.End:
			return p.by, false
		}
	}
	return 0, false
}

// original returns the parts of the original inside the range.
func (l layout) original(r Range) []Range {
	var out []Range
	for at, p := range l.overlapping(r) {
		start, end := max(at, r.Start), min(at+p.n, r.End)
		if p.by == 0 && start < end {
			out = append(out, Range{p.from + start - at, p.from + end - at})
		}
	}
	return out
}

package rx

import (
	"slices"
	"sync"
	"unicode"
)

// span is an inclusive range of runes (or of bytes, under opByte).
type span struct{ lo, hi rune }

// set is a sorted list of spans that neither overlap nor touch.
type set []span

func single(r rune) set { return set{{r, r}} }

// normalize sorts and merges any list of spans into a set, in place.
func normalize(s []span) set {
	if len(s) < 2 {
		return s
	}
	slices.SortFunc(s, func(a, b span) int { return int(a.lo) - int(b.lo) })
	out := s[:1]
	for _, r := range s[1:] {
		if last := &out[len(out)-1]; r.lo <= last.hi+1 {
			last.hi = max(last.hi, r.hi)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// negate is the complement within 0..top.
func (s set) negate(top rune) set {
	var out set
	next := rune(0)
	for _, r := range s {
		if r.lo > next {
			out = append(out, span{next, r.lo - 1})
		}
		next = r.hi + 1
	}
	if next <= top {
		out = append(out, span{next, top})
	}
	return out
}

func (s set) intersect(t set) set {
	var out set
	for i, j := 0, 0; i < len(s) && j < len(t); {
		lo, hi := max(s[i].lo, t[j].lo), min(s[i].hi, t[j].hi)
		if lo <= hi {
			out = append(out, span{lo, hi})
		}
		if s[i].hi < t[j].hi {
			i++
		} else {
			j++
		}
	}
	return out
}

func (s set) minus(t set) set { return s.intersect(t.negate(unicode.MaxRune)) }

func (s set) has(r rune) bool {
	_, ok := slices.BinarySearchFunc(s, r, func(a span, r rune) int {
		switch {
		case a.hi < r:
			return -1
		case a.lo > r:
			return 1
		}
		return 0
	})
	return ok
}

// size counts the runes, stopping past limit.
func (s set) size(limit int) int {
	n := 0
	for _, r := range s {
		if n += int(r.hi-r.lo) + 1; n > limit {
			break
		}
	}
	return n
}

// foldable lists, in order, every rune that has another of the same simple fold.
var foldable = sync.OnceValue(func() []rune {
	var out []rune
	for _, c := range unicode.CaseRanges {
		for r := rune(c.Lo); r <= rune(c.Hi); r++ {
			if unicode.SimpleFold(r) != r {
				out = append(out, r)
			}
		}
	}
	return out
})

// fold adds the runes that differ from one of s by case only.
func (s set) fold() set {
	out := slices.Clone(s)
	all := foldable()
	for _, r := range s {
		if r.hi < unicode.MaxASCII { // the common case, without the table
			for c := r.lo; c <= r.hi; c++ {
				out = appendOrbit(out, c)
			}
			continue
		}
		i, _ := slices.BinarySearch(all, r.lo)
		for ; i < len(all) && all[i] <= r.hi; i++ {
			out = appendOrbit(out, all[i])
		}
	}
	return normalize(out)
}

func (s set) union(t set) set {
	return normalize(slices.Concat(s, t))
}

// foldASCII is fold within ASCII, for (?i-u).
func (s set) foldASCII() set {
	lower := s.intersect(set{{'a', 'z'}})
	upper := s.intersect(set{{'A', 'Z'}})
	out := slices.Clone(s)
	for _, r := range lower {
		out = append(out, span{r.lo - 32, r.hi - 32})
	}
	for _, r := range upper {
		out = append(out, span{r.lo + 32, r.hi + 32})
	}
	return normalize(out)
}

// clip is the part of s within lo..hi; the spans at the ends may reach beyond.
func (s set) clip(lo, hi rune) set {
	cmp := func(a span, r rune) int { return int(a.hi) - int(r) }
	i, _ := slices.BinarySearchFunc(s, lo, cmp)
	j := i
	for j < len(s) && s[j].lo <= hi {
		j++
	}
	out := s[i:j]
	if len(out) > 0 && (out[0].lo < lo || out[len(out)-1].hi > hi) {
		out = slices.Clone(out)
		out[0].lo = max(out[0].lo, lo)
		out[len(out)-1].hi = min(out[len(out)-1].hi, hi)
	}
	return out
}

func appendOrbit(out set, r rune) set {
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		out = append(out, span{f, f})
	}
	return out
}

func fromTables(tables ...*unicode.RangeTable) set {
	var out []span
	for _, t := range tables {
		for _, r := range t.R16 {
			out = appendStride(out, rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			out = appendStride(out, rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return normalize(out)
}

func appendStride(out []span, lo, hi, stride rune) []span {
	if stride == 1 {
		return append(out, span{lo, hi})
	}
	for r := lo; r <= hi; r += stride {
		out = append(out, span{r, r})
	}
	return out
}

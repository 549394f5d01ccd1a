package merge

import (
	"bytes"
	"slices"

	"znkr.io/diff"
)

// Lines merges what ours and theirs changed in base. Lines carry their endings, so that a missing final newline counts.
//
// Among repeated lines several alignments of a side with the base are equally short, and a merge that is clean under one
// may conflict under another. Each side is therefore aligned from the front and from the back, and the merge is clean only
// if every combination is clean and gives the same text.
func Lines(base, ours, theirs [][]byte) Result {
	oursBoth := [2][]change{changes(base, ours), changesFromEnd(base, ours)}
	theirsBoth := [2][]change{changes(base, theirs), changesFromEnd(base, theirs)}
	first := mergeChanges(base, ours, theirs, oursBoth[0], theirsBoth[0])
	if !first.Clean() {
		return first
	}
	for i, a := range oursBoth {
		for j, b := range theirsBoth {
			if i+j == 0 || (slices.Equal(a, oursBoth[0]) && slices.Equal(b, theirsBoth[0])) {
				continue
			}
			r := mergeChanges(base, ours, theirs, a, b)
			if !r.Clean() {
				return r
			}
			if !bytes.Equal(r.Bytes(), first.Bytes()) {
				return Result{Chunks: []Chunk{{Conflict: true, Base: base, Ours: ours, Theirs: theirs}}}
			}
		}
	}
	return first
}

func mergeChanges(base, ours, theirs [][]byte, a, b []change) Result {
	m := merger{base: base, ours: ours, theirs: theirs}
	m.run(a, b)
	return Result{Chunks: m.chunks}
}

// change says that base[x0:x1] became side[y0:y1].
type change struct{ x0, x1, y0, y1 int }

// changes returns the differences from x to y as runs that do not touch, in order.
func changes(x, y [][]byte) []change {
	xs, ys := keys(x), keys(y)
	return widen(align(xs, ys), xs, ys)
}

// changesFromEnd is changes with the alignment found from the back.
func changesFromEnd(x, y [][]byte) []change {
	xs, ys := keys(x), keys(y)
	slices.Reverse(xs)
	slices.Reverse(ys)
	cs := align(xs, ys)
	for i, c := range cs {
		cs[i] = change{len(xs) - c.x1, len(xs) - c.x0, len(ys) - c.y1, len(ys) - c.y0}
	}
	slices.Reverse(cs)
	slices.Reverse(xs)
	slices.Reverse(ys)
	return widen(cs, xs, ys)
}

func align(xs, ys []string) []change {
	var out []change
	px, py := 0, 0
	for _, e := range diff.Edits(xs, ys, diff.Minimal()) {
		switch e.Op {
		case diff.Match:
			px, py = e.PosX+1, e.PosY+1
			continue
		case diff.Delete:
			out = extend(out, px, py, 1, 0)
			px++
		case diff.Insert:
			out = extend(out, px, py, 0, 1)
			py++
		}
	}
	return out
}

func extend(out []change, px, py, dx, dy int) []change {
	if n := len(out); n > 0 && out[n-1].x1 == px && out[n-1].y1 == py {
		out[n-1].x1 += dx
		out[n-1].y1 += dy
		return out
	}
	return append(out, change{px, px + dx, py, py + dy})
}

// widen makes every change cover all the places where its deleted or its inserted lines could slide to over equal lines,
// so that whether two sides touch does not depend on which of those places an alignment happened to choose. Changes that
// then meet become one.
func widen(cs []change, xs, ys []string) []change {
	var out []change
	for i, c := range cs {
		low, high := 0, len(xs) // none slides past its neighbours
		if i > 0 {
			low = cs[i-1].x1
		}
		if i+1 < len(cs) {
			high = cs[i+1].x0
		}
		up := max(slackUp(xs, c.x0, c.x1, c.x0-low), slackUp(ys, c.y0, c.y1, c.x0-low))
		down := max(slackDown(xs, c.x0, c.x1, high-c.x1), slackDown(ys, c.y0, c.y1, high-c.x1))
		c = change{c.x0 - up, c.x1 + down, c.y0 - up, c.y1 + down}
		if n := len(out); n > 0 && c.x0 <= out[n-1].x1 {
			out[n-1].x1, out[n-1].y1 = max(c.x1, out[n-1].x1), max(c.y1, out[n-1].y1)
			continue
		}
		out = append(out, c)
	}
	return out
}

// slackUp says how many lines the run lines[from:to] can slide up over equal lines, up to limit. An empty run does not slide.
func slackUp(lines []string, from, to, limit int) int {
	n := 0
	for from < to && n < limit && lines[from-n-1] == lines[to-n-1] {
		n++
	}
	return n
}

func slackDown(lines []string, from, to, limit int) int {
	n := 0
	for from < to && n < limit && lines[from+n] == lines[to+n] {
		n++
	}
	return n
}

func keys(lines [][]byte) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = string(l)
	}
	return out
}

// merger walks both lists of changes over the base.
type merger struct {
	base, ours, theirs [][]byte
	chunks             []Chunk
	at                 int // base lines already emitted
}

func (m *merger) run(a, b []change) {
	shiftA, shiftB := 0, 0 // side line = base line + shift, outside changes
	for len(a) > 0 || len(b) > 0 {
		ga, gb, x0, x1 := group(a, b)
		m.keep(x0)
		m.emit(x0, x1,
			m.ours[x0+shiftA:x1+shiftA+growth(ga)],
			m.theirs[x0+shiftB:x1+shiftB+growth(gb)],
			len(ga) > 0, len(gb) > 0)
		shiftA += growth(ga)
		shiftB += growth(gb)
		a, b = a[len(ga):], b[len(gb):]
		m.at = x1
	}
	m.keep(len(m.base))
}

// group takes from both lists the changes that touch one another, and the base range they cover. Adjoining counts as
// touching, as it does for git.
func group(a, b []change) (ga, gb []change, x0, x1 int) {
	na, nb := 0, 0
	switch {
	case len(b) == 0 || len(a) > 0 && a[0].x0 <= b[0].x0:
		x0, x1, na = a[0].x0, a[0].x1, 1
	default:
		x0, x1, nb = b[0].x0, b[0].x1, 1
	}
	for {
		switch {
		case na < len(a) && a[na].x0 <= x1 && nb > 0:
			x1 = max(x1, a[na].x1)
			na++
		case nb < len(b) && b[nb].x0 <= x1 && na > 0:
			x1 = max(x1, b[nb].x1)
			nb++
		default:
			return a[:na], b[:nb], x0, x1
		}
	}
}

func growth(cs []change) int {
	n := 0
	for _, c := range cs {
		n += (c.y1 - c.y0) - (c.x1 - c.x0)
	}
	return n
}

// keep emits base lines that neither side touched, up to line x.
func (m *merger) keep(x int) {
	if x > m.at {
		lines := m.base[m.at:x]
		m.chunks = append(m.chunks, Chunk{Base: lines, Ours: lines, Theirs: lines, BaseLine: m.at})
	}
}

func (m *merger) emit(x0, x1 int, ours, theirs [][]byte, changedOurs, changedTheirs bool) {
	c := Chunk{Base: m.base[x0:x1], Ours: ours, Theirs: theirs, BaseLine: x0}
	switch {
	case !changedOurs:
		c.Ours, c.Foreign = theirs, true
	case changedTheirs && !slices.EqualFunc(ours, theirs, func(a, b []byte) bool { return string(a) == string(b) }):
		c.Conflict = true
	}
	m.chunks = append(m.chunks, c)
}

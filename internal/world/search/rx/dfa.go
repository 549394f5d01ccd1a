package rx

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// Targets in the transition table that are no states, in units of the stride.
const (
	dfaUnknown = iota // not computed yet
	dfaDead           // no match before the next line
	dfaMatch          // a match ended before the byte just read
	dfaQuit           // the DFA cannot tell: a word boundary at a non-ASCII byte
	dfaFirst          // the first real state
)

// stopInterval is how many bytes are read between two looks at whether to stop.
const stopInterval = 128 << 10

// dfa decides whether a buffer matches and where the earliest match ends. Its
// states are sets of instructions, made when first reached. Look-behind is settled
// when a state is made; look-ahead waits for the next byte.
type dfa struct {
	prog     *prog
	lineMode bool // no match crosses '\n'; after one the search starts afresh
	stride   uint32
	starts   [4]uint32 // by what the byte before was
	busy     uint32    // the first state in which a match may be in progress
	trans    []uint32  // state*stride + class; states are stored premultiplied
	limit    int       // of trans: maxTable, but in tests
	states   []dstate  // by state/stride
	index    map[string]uint32
	key      []byte
	cur, nxt sparse
	stack    []uint32
}

// dstate is one state: the instructions waiting, and what is known of the byte
// before.
type dstate struct {
	insts  []uint32
	behind look // lookLineStart and lookTextStart, as they hold
	word   bool // the byte before is a word character
	idle   bool // no match is in progress (kept in multi-line mode only)
	looks  bool // insts holds assertions
}

// reset forgets all states but those in which a search starts, which come first so
// that one comparison tells them and the targets that are no states from the rest.
func (d *dfa) reset() {
	d.trans = make([]uint32, dfaFirst*d.stride, 16*d.stride)
	d.states = make([]dstate, dfaFirst, 16)
	d.index = map[string]uint32{}
	for i, s := range [...]dstate{
		afterText: {behind: lookLineStart | lookTextStart},
		afterLine: {behind: lookLineStart},
		afterWord: {word: d.prog.looks&wordLooks != 0},
		afterRest: {},
	} {
		s.idle = true
		d.nxt.clear()
		d.starts[i] = d.intern(s)
	}
	d.busy = uint32(len(d.states)) * d.stride
}

// What may stand before the place where a search starts.
const (
	afterText = iota // nothing
	afterLine        // a line break
	afterWord        // a word character of ASCII
	afterRest        // any other byte
)

// next looks for a match in buf from from on. In line mode buf ends with '\n',
// from is the start of a line, and at is a byte of the first matching line;
// otherwise the match found ends at or before at. quit means that the line (the
// buffer) around at must be searched by other means. stop may be nil.
func (d *dfa) next(buf []byte, from int, stop func() bool) (at int, found, quit bool) {
	if d.blind(buf, from) {
		return from, false, true
	}
	cur := d.startAt(buf, from)
	for i := from; i < len(buf); i++ {
		if stop != nil && stop() {
			return 0, false, false
		}
		cur, i = d.run(cur, buf[:min(len(buf), i+stopInterval)], i, dfaFirst*d.stride)
		switch cur {
		default:
			i--
		case dfaDead * d.stride:
			eol := bytes.IndexByte(buf[i:], '\n')
			if !d.lineMode || eol < 0 {
				return 0, false, false
			}
			i += eol
			cur = d.startAt(buf, i+1)
		case dfaMatch * d.stride:
			return i, true, false
		case dfaQuit * d.stride:
			return i, false, true
		}
	}
	if d.lineMode {
		return 0, false, false
	}
	return len(buf), d.transition(cur, -1) == dfaMatch*d.stride, false
}

// blind reports whether the DFA cannot start at at: the byte before is part of a
// character that it would have to know.
func (d *dfa) blind(buf []byte, at int) bool {
	return at > 0 && buf[at-1] >= 128 && d.prog.looks&unicodeWordLooks != 0
}

// run reads buf from i on until it meets a target below first or the end. It
// gives that target and the place of the byte that led there.
func (d *dfa) run(cur uint32, buf []byte, i int, first uint32) (uint32, int) {
	classes, trans := &d.prog.classes, d.trans
	for ; i < len(buf); i++ {
		nx := trans[cur+uint32(classes[buf[i]])]
		if nx < first {
			if nx == dfaUnknown {
				nx = d.transition(cur, int(buf[i]))
				trans = d.trans
			}
			if nx < first {
				return nx, i
			}
		}
		cur = nx
	}
	return cur, i
}

// startAt is the state in which nothing has been seen but the byte before at.
func (d *dfa) startAt(buf []byte, at int) uint32 {
	switch {
	case at == 0:
		return d.starts[afterText]
	case buf[at-1] == '\n':
		return d.starts[afterLine]
	case isWordByte(buf[at-1]):
		return d.starts[afterWord]
	}
	return d.starts[afterRest]
}

func (d *dfa) after(c byte) (behind look, word bool) {
	if c == '\n' {
		behind = lookLineStart
	}
	return behind, d.prog.looks&wordLooks != 0 && isWordByte(c)
}

// transition gives the target from state on byte c, -1 for the end of the text,
// and remembers it.
func (d *dfa) transition(state uint32, c int) uint32 {
	class := uint32(d.prog.nclasses)
	if c >= 0 {
		class = uint32(d.prog.classes[c])
	}
	if t := d.trans[state+class]; t != 0 {
		return t
	}
	if len(d.trans) > d.limit {
		keep := d.states[state/d.stride]
		d.reset()
		d.nxt.clear()
		for _, pc := range keep.insts {
			d.nxt.add(pc)
		}
		state = d.intern(keep)
	}
	t := d.step(d.states[state/d.stride], c)
	d.trans[state+class] = t
	return t
}

func (d *dfa) step(s dstate, c int) uint32 {
	if c >= 128 && d.prog.looks&unicodeWordLooks != 0 {
		return dfaQuit * d.stride
	}
	waiting := s.insts
	if s.looks {
		holds := s.behind | ahead(c, s.word)
		d.cur.clear()
		for _, pc := range s.insts {
			d.follow(&d.cur, pc, holds, false)
		}
		waiting = d.cur.dense
	}
	next := dstate{idle: true}
	if c >= 0 {
		next.behind, next.word = d.after(byte(c))
	}
	d.nxt.clear()
	for _, pc := range waiting {
		in := &d.prog.insts[pc]
		if in.op == iMatch {
			return dfaMatch * d.stride
		}
		if c < 0 || in.op != iClass {
			continue
		}
		switch t := in.trie.step(in.node, byte(c)); t {
		case trieFail:
		case trieAccept:
			d.follow(&d.nxt, in.out, next.behind, true)
			next.idle = false
		default:
			d.nxt.add(pc + uint32(t-1) - nodeOffset(in.node))
			next.idle = false
		}
	}
	if c < 0 {
		return dfaDead * d.stride
	}
	if d.lineMode && c == '\n' {
		d.nxt.clear()
		next.idle = true
	}
	return d.intern(next)
}

// nodeOffset is how far the instruction of node lies behind that of the root.
func nodeOffset(node uint16) uint32 {
	if node == 0 {
		return 0
	}
	return uint32(node) - 1
}

// ahead lists the assertions that hold before byte c, as far as they depend on it.
func ahead(c int, word bool) look {
	var l look
	if c < 0 {
		l |= lookTextEnd
	}
	if c < 0 || c == '\n' {
		l |= lookLineEnd
	}
	return l | wordLooksBetween(word, c >= 0 && isWordByte(byte(c)))
}

// wordLooksBetween lists the word assertions that hold between two characters.
func wordLooksBetween(before, after bool) look {
	var l look
	if before != after {
		l |= lookWord | lookASCIIWord
	} else {
		l |= lookNotWord | lookASCIINotWord
	}
	if !before {
		l |= lookHalfStart
		if after {
			l |= lookWordStart
		}
	}
	if !after {
		l |= lookHalfEnd
		if before {
			l |= lookWordEnd
		}
	}
	return l
}

const behindLooks = lookLineStart | lookTextStart

// follow adds what pc reaches without reading a byte. With wait, assertions about
// the byte to come are added as they are; without it they hold or are dropped.
func (d *dfa) follow(set *sparse, pc uint32, holds look, wait bool) {
	d.stack = append(d.stack[:0], pc)
	for len(d.stack) > 0 {
		pc := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if !set.add(pc) {
			continue
		}
		switch in := &d.prog.insts[pc]; in.op {
		case iSplit:
			d.stack = append(d.stack, in.alt, in.out)
		case iLook:
			if in.look&holds != 0 && (!wait || in.look&behindLooks != 0) {
				d.stack = append(d.stack, in.out)
			}
		}
	}
}

// intern completes the state whose instructions are in nxt by adding the start of
// the pattern, and gives its number.
func (d *dfa) intern(s dstate) uint32 {
	d.follow(&d.nxt, d.prog.start, s.behind, true)
	d.key = d.key[:0]
	insts := d.nxt.dense
	slices.Sort(insts)
	s.looks = false
	for _, pc := range insts {
		switch in := &d.prog.insts[pc]; {
		case in.op == iSplit, in.op == iLook && in.look&behindLooks != 0:
			continue
		case in.op == iLook:
			s.looks = true
		}
		d.key = binary.LittleEndian.AppendUint32(d.key, pc)
	}
	if len(d.key) == 0 && (d.lineMode || !d.restarts()) {
		return dfaDead * d.stride
	}
	flags := byte(0)
	if s.looks {
		flags = byte(s.behind) << 2
		if s.word {
			flags |= 1
		}
	}
	if !d.lineMode && s.idle {
		flags |= 2
	}
	d.key = append(d.key, flags)
	if id, ok := d.index[string(d.key)]; ok {
		return id
	}
	s.insts = make([]uint32, 0, len(d.key)/4)
	for i := 0; i+4 <= len(d.key); i += 4 {
		s.insts = append(s.insts, binary.LittleEndian.Uint32(d.key[i:]))
	}
	id := uint32(len(d.states)) * d.stride
	d.states = append(d.states, s)
	d.trans = append(d.trans, make([]uint32, d.stride)...)
	d.index[string(d.key)] = id
	return id
}

// restarts says whether the pattern can begin after some later byte although it
// cannot here.
func (d *dfa) restarts() bool { return d.prog.looks&lookLineStart != 0 }

// try looks, in line mode, for a match that begins at at. If there is none, a later
// one begins at end or after it; otherwise it, or what made the DFA quit, is in the
// line that holds end-1. stop may be nil.
func (d *dfa) try(buf []byte, at int, stop func() bool) (end int, found, quit bool) {
	if d.blind(buf, at) {
		return at + 1, false, true
	}
	cur, i := d.startAt(buf, at), at
	for limit := at; i == limit && limit < len(buf); {
		if stop != nil && stop() {
			return len(buf), false, false
		}
		limit = min(len(buf), i+stopInterval)
		cur, i = d.run(cur, buf[:limit], i, d.busy)
	}
	return i + 1, cur == dfaMatch*d.stride, cur == dfaQuit*d.stride
}

// idleBefore gives the last position in from..to at which no match was in
// progress: the leftmost match that ends near to starts there or later.
func (d *dfa) idleBefore(buf []byte, from, to int) int {
	cur, idle := d.startAt(buf, from), from
	for i := from; i < to; i++ {
		cur = d.transition(cur, int(buf[i]))
		if cur < dfaFirst*d.stride {
			break
		}
		if d.states[cur/d.stride].idle {
			idle = i + 1
		}
	}
	return idle
}

// sparse is a set of instructions that is cleared in constant time.
type sparse struct {
	dense []uint32
	where []uint32
}

func newSparse(n int) sparse { return sparse{make([]uint32, 0, n), make([]uint32, n)} }

func (s *sparse) clear() { s.dense = s.dense[:0] }

func (s *sparse) add(v uint32) bool {
	if i := s.where[v]; int(i) < len(s.dense) && s.dense[i] == v {
		return false
	}
	s.where[v] = uint32(len(s.dense))
	s.dense = append(s.dense, v)
	return true
}

package rx

import "unicode/utf8"

// pike finds the leftmost match and its extent by running every thread of the
// automaton in step, in order of preference. It is slow and exact: it serves for
// spans, and for the lines the DFA gives up on.
type pike struct {
	prog     *prog
	cur, nxt threads
	stack    []uint32
}

func newPike(p *prog) *pike {
	n := len(p.insts)
	return &pike{prog: p,
		cur: threads{newSparse(n), make([]int, n)},
		nxt: threads{newSparse(n), make([]int, n)}}
}

// threads is a sparse set of instructions in order of preference, each with the
// position its match began at.
type threads struct {
	sparse
	start []int
}

// find gives the leftmost match of text that starts at from or later. Where two
// start together the one the pattern prefers wins.
func (k *pike) find(text []byte, from int) (start, end int, ok bool) {
	k.cur.clear()
	for pos := from; ; pos++ {
		if !ok {
			k.follow(&k.cur, k.prog.start, text, pos, pos)
		} else if len(k.cur.dense) == 0 {
			return start, end, true
		}
		k.nxt.clear()
	threads:
		for _, pc := range k.cur.dense {
			in := &k.prog.insts[pc]
			switch in.op {
			case iMatch:
				start, end, ok = k.cur.start[pc], pos, true
				break threads // the rest are less preferred
			case iClass:
				if pos < len(text) {
					k.step(in, pc, text, pos)
				}
			}
		}
		if pos >= len(text) {
			return start, end, ok
		}
		k.cur, k.nxt = k.nxt, k.cur
	}
}

func (k *pike) step(in *inst, pc uint32, text []byte, pos int) {
	began := k.cur.start[pc]
	switch t := in.trie.step(in.node, text[pos]); t {
	case trieFail:
	case trieAccept:
		k.follow(&k.nxt, in.out, text, pos+1, began)
	default:
		if to := pc + uint32(t-1) - nodeOffset(in.node); k.nxt.add(to) {
			k.nxt.start[to] = began
		}
	}
}

func (k *pike) follow(set *threads, pc uint32, text []byte, pos, began int) {
	var holds look
	known := false
	k.stack = append(k.stack[:0], pc)
	for len(k.stack) > 0 {
		pc := k.stack[len(k.stack)-1]
		k.stack = k.stack[:len(k.stack)-1]
		if !set.add(pc) {
			continue
		}
		set.start[pc] = began
		switch in := &k.prog.insts[pc]; in.op {
		case iSplit:
			k.stack = append(k.stack, in.alt, in.out)
		case iLook:
			if !known {
				holds, known = looksAt(text, pos), true
			}
			if in.look&holds != 0 {
				k.stack = append(k.stack, in.out)
			}
		}
	}
}

// looksAt lists the assertions that hold at pos.
func looksAt(text []byte, pos int) look {
	var l look
	if pos == 0 {
		l |= lookTextStart | lookLineStart
	} else if text[pos-1] == '\n' {
		l |= lookLineStart
	}
	if pos == len(text) {
		l |= lookTextEnd | lookLineEnd
	} else if text[pos] == '\n' {
		l |= lookLineEnd
	}
	before, n := utf8.DecodeLastRune(text[:pos])
	after, m := utf8.DecodeRune(text[pos:])
	split := before == utf8.RuneError && n == 1 || after == utf8.RuneError && m == 1
	l |= wordLooksBetween(n > 0 && isWord(before), m > 0 && isWord(after))
	if split { // inside a character, or beside bytes that are none
		l &^= lookNotWord
	}
	const ascii = lookASCIIWord | lookASCIINotWord
	return l&^ascii | wordLooksBetween(pos > 0 && isWordByte(text[pos-1]), pos < len(text) && isWordByte(text[pos]))&ascii
}

package rx

import (
	"sync"
)

type instOp uint8

const (
	iMatch instOp = iota
	iSplit        // to out, then to alt
	iLook         // to out if look holds
	iClass        // to out if the trie accepts
)

// inst is one instruction of the byte automaton. A class takes one instruction
// for the root of its trie and one for each node: a step to node n moves n-1
// instructions on from the root.
type inst struct {
	op       instOp
	node     uint16 // iClass: where in trie; 0 is the root
	look     look
	out, alt uint32
	trie     *trie
}

type prog struct {
	insts []inst
	start uint32
	looks look // every assertion used
	// Byte to equivalence class, and how many there are without the end-of-text class:
	// set by classify, which a pattern that is literals alone never needs.
	classes    [256]uint8
	nclasses   int
	classified sync.Once
}

const maxInsts = 1 << 18

type compiler struct {
	prog  *prog
	tries map[*span]*trie // by the first span of a set, which identifies it
	large bool
}

func (c *compiler) emit(i inst) uint32 {
	if len(c.prog.insts) >= maxInsts {
		c.large = true
		return 0
	}
	c.prog.insts = append(c.prog.insts, i)
	return uint32(len(c.prog.insts) - 1)
}

// node compiles n so that it continues at out, and gives its entry. Working from
// the end backwards, no jump is ever patched but a loop's.
func (c *compiler) node(n *node, out uint32) uint32 {
	if c.large {
		return 0
	}
	switch n.op {
	case opSet, opByte:
		return c.class(n, out)
	case opLook:
		return c.look(n.look, out)
	case opConcat:
		for i := len(n.subs) - 1; i >= 0; i-- {
			out = c.node(n.subs[i], out)
		}
		return out
	case opAlt:
		entry := c.node(n.subs[len(n.subs)-1], out)
		for i := len(n.subs) - 2; i >= 0; i-- {
			entry = c.emit(inst{op: iSplit, out: c.node(n.subs[i], out), alt: entry})
		}
		return entry
	case opRepeat:
		return c.repeat(n, out)
	}
	return out
}

// look lets a line end before "\r\n" too, which ripgrep does only under --crlf:
// people who write `;$` mean the end of the text they see.
func (c *compiler) look(l look, out uint32) uint32 {
	c.prog.looks |= l
	entry := c.emit(inst{op: iLook, look: l, out: out})
	if l != lookLineEnd {
		return entry
	}
	cr := c.class(&node{op: opSet, set: single('\r')}, entry)
	return c.emit(inst{op: iSplit, out: entry, alt: cr})
}

func (c *compiler) class(n *node, out uint32) uint32 {
	t := c.trie(n)
	root := c.emit(inst{op: iClass, trie: t, out: out})
	for i := range t.cont {
		c.emit(inst{op: iClass, trie: t, node: uint16(i) + trieNode, out: out})
	}
	return root
}

func (c *compiler) trie(n *node) *trie {
	if len(n.set) == 0 {
		return newByteTrie(nil)
	}
	if t := c.tries[&n.set[0]]; t != nil {
		return t
	}
	t := (*trie)(nil)
	if n.op == opByte || n.set[len(n.set)-1].hi < 128 {
		t = newByteTrie(n.set)
	} else {
		t = trieFor(n.set)
	}
	c.tries[&n.set[0]] = t
	return t
}

func trieFor(s set) *trie {
	if w := wordSet(); len(s) == len(w) && &s[0] == &w[0] {
		return wordTrie()
	}
	return newTrie(s)
}

// wordTrie is kept because \w is in most patterns and takes the longest to build.
var wordTrie = sync.OnceValue(func() *trie { return newTrie(wordSet()) })

func (c *compiler) repeat(n *node, out uint32) uint32 {
	body := n.subs[0]
	entry := out
	switch {
	case n.max == unlimited && n.min == 0:
		return c.loop(body, n.lazy, out)
	case n.max == unlimited:
		entry = c.loop(body, n.lazy, out)
	default:
		for range n.max - n.min {
			entry = c.split(n.lazy, c.node(body, entry), out)
			if c.large {
				return 0
			}
		}
	}
	for range n.min {
		entry = c.node(body, entry)
		if c.large {
			return 0
		}
	}
	return entry
}

func (c *compiler) loop(body *node, lazy bool, out uint32) uint32 {
	split := c.emit(inst{op: iSplit})
	entry := c.node(body, split)
	if c.large {
		return 0
	}
	s := &c.prog.insts[split]
	s.out, s.alt = entry, out
	if lazy {
		s.out, s.alt = out, entry
	}
	return split
}

func (c *compiler) split(lazy bool, more, done uint32) uint32 {
	if lazy {
		more, done = done, more
	}
	return c.emit(inst{op: iSplit, out: more, alt: done})
}

// classify makes the byte classes, once.
func (p *prog) classify() { p.classified.Do(p.mergeClasses) }

// mergeClasses merges the byte classes of every trie, keeping apart the bytes that
// assertions look at.
func (p *prog) mergeClasses() {
	p.nclasses = 1
	done := map[*trie]bool{}
	for i := range p.insts {
		if t := p.insts[i].trie; t != nil && !done[t] {
			done[t] = true
			p.refine(&t.classes, t.nclasses)
		}
	}
	var seen [256]uint8
	for c := range seen {
		switch {
		case c == '\n':
			seen[c] = 1
		case p.looks&unicodeWordLooks != 0 && c >= 128:
			seen[c] = 3
		case p.looks&wordLooks != 0 && isWordByte(byte(c)):
			seen[c] = 2
		}
	}
	p.refine(&seen, 4)
}

// refine splits the classes by another n of them.
func (p *prog) refine(by *[256]uint8, n int) {
	ids := make([]int, p.nclasses*n) // one more than the new number; 0 is none yet
	p.nclasses = 0
	for c, k := range by {
		id := &ids[int(p.classes[c])*n+int(k)]
		if *id == 0 {
			p.nclasses++
			*id = p.nclasses
		}
		p.classes[c] = uint8(*id - 1)
	}
}

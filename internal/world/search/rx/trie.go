package rx

// Results of a trie step; larger values are nodes.
const (
	trieFail   = 0
	trieAccept = 1
	trieNode   = 2 // id of cont[0]
)

// trie is the automaton of one class over UTF-8 bytes: a root for lead bytes and
// shared nodes for continuation bytes.
type trie struct {
	root     [256]uint16
	cont     [][64]uint16
	classes  [256]uint8 // bytes that no node tells apart share a number
	nclasses int
}

func (t *trie) step(node uint16, c byte) uint16 {
	if node == trieFail {
		return t.root[c]
	}
	if c&0xC0 != 0x80 {
		return trieFail
	}
	return t.cont[node-trieNode][c&0x3F]
}

// newByteTrie accepts single bytes, whatever they mean in UTF-8.
func newByteTrie(s set) *trie {
	t := &trie{}
	for _, r := range s {
		for c := r.lo; c <= r.hi && c < 256; c++ {
			t.root[c] = trieAccept
		}
	}
	t.classify()
	return t
}

func newTrie(s set) *trie {
	b := trieBuilder{trie: &trie{}, leaves: map[uint64]uint16{}, inner: map[[64]uint16]uint16{}}
	s = s.minus(set{{0xD800, 0xDFFF}})
	for _, r := range s.intersect(set{{0, 127}}) {
		for c := r.lo; c <= r.hi; c++ {
			b.trie.root[c] = trieAccept
		}
	}
	b.leads(s, 0xC0, 0x20, 1, 0x80)
	b.leads(s, 0xE0, 0x10, 2, 0x800)
	b.leads(s, 0xF0, 0x05, 3, 0x10000)
	b.trie.classify()
	return b.trie
}

type trieBuilder struct {
	trie   *trie
	leaves map[uint64]uint16
	inner  map[[64]uint16]uint16
}

// leads fills the lead bytes first..first+n-1, which are followed by k
// continuation bytes and encode runes from floor on.
func (b *trieBuilder) leads(s set, first, n, k int, floor rune) {
	width := rune(1) << (6 * k)
	for i := range n {
		lo := max(rune(i)*width, floor)
		hi := rune(i+1)*width - 1
		if lo <= hi {
			b.trie.root[first+i] = b.node(k, s.clip(lo, hi), rune(i)*width)
		}
	}
}

// node gives the node for k continuation bytes that encode base plus something in s.
func (b *trieBuilder) node(k int, s set, base rune) uint16 {
	if len(s) == 0 {
		return trieFail
	}
	if k == 1 {
		return b.leaf(s, base)
	}
	var next [64]uint16
	width := rune(1) << (6 * (k - 1))
	for i := range next {
		lo := base + rune(i)*width
		next[i] = b.node(k-1, s.clip(lo, lo+width-1), lo)
	}
	id, ok := b.inner[next]
	if !ok {
		id = b.add(next)
		b.inner[next] = id
	}
	return id
}

func (b *trieBuilder) leaf(s set, base rune) uint16 {
	bits := uint64(0)
	for _, r := range s {
		for c := r.lo; c <= r.hi; c++ {
			bits |= 1 << (c - base)
		}
	}
	id, ok := b.leaves[bits]
	if ok {
		return id
	}
	var next [64]uint16
	for i := range next {
		next[i] = uint16(bits >> i & 1)
	}
	id = b.add(next)
	b.leaves[bits] = id
	return id
}

func (b *trieBuilder) add(next [64]uint16) uint16 {
	b.trie.cont = append(b.trie.cont, next)
	return uint16(len(b.trie.cont)-1) + trieNode
}

// classify numbers the bytes by the column of transitions they have.
func (t *trie) classify() {
	if len(t.cont) == 0 { // the root accepts or fails
		for c, v := range t.root {
			t.classes[c] = uint8(v)
		}
		t.nclasses = trieAccept + 1
		return
	}
	seen := map[string]uint8{}
	column := make([]byte, 0, 2+2*len(t.cont))
	for c := range 256 {
		column = append(column[:0], byte(t.root[c]), byte(t.root[c]>>8))
		if c&0xC0 == 0x80 {
			for i := range t.cont {
				v := t.cont[i][c&0x3F]
				column = append(column, byte(v), byte(v>>8))
			}
		}
		id, ok := seen[string(column)]
		if !ok {
			id = uint8(len(seen))
			seen[string(column)] = id
		}
		t.classes[c] = id
	}
	t.nclasses = len(seen)
}

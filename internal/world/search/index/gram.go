package index

// A gram is three neighbouring characters, each reduced to one of 64 symbols: the
// cases of a letter share one, so one index serves both kinds of search, and a
// gram fits 18 bits, so that the set of those seen fits the first-level cache.
const (
	gramBits = 18
	gramMask = 1<<gramBits - 1
)

// symbols maps a byte to its symbol. Symbol 0 ends a run: nothing sought holds it
// (line breaks and control characters).
var symbols = func() (s [256]uint8) {
	for i := range 26 {
		s['a'+i], s['A'+i] = uint8(1+i), uint8(1+i)
	}
	for i := range 10 {
		s['0'+i] = uint8(27 + i)
	}
	next := uint8(37)
	for _, c := range []byte("_ ().,;:-=\"'/*&<>{}[]#") {
		s[c] = next
		next++
	}
	// The rest of ASCII and the other bytes share what is left.
	left := 64 - next
	for i, c := range []byte("\t!$%+?@\\^`|~") {
		s[c] = next + uint8(i)%left
	}
	for c := 128; c < 256; c++ {
		s[c] = next + uint8(c)%left
	}
	return s
}()

// hasBreak reports whether one of the three symbols is 0.
func hasBreak(g uint32) bool { return g&0x3F == 0 || g&0xFC0 == 0 || g&0x3F000 == 0 }

// Grams collects the distinct grams of texts. It belongs to one goroutine.
type Grams struct {
	seen [1 << (gramBits - 6)]uint64
	list []uint32
}

// Of gives the distinct grams of text, valid until the next call.
func (c *Grams) Of(text []byte) []uint32 {
	clear(c.seen[:])
	c.list = c.list[:0]
	seen, g := &c.seen, uint32(0)
	for _, b := range text {
		g = (g<<6 | uint32(symbols[b])) & gramMask
		if bit := uint64(1) << (g & 63); seen[g>>6]&bit == 0 {
			seen[g>>6] |= bit
			if !hasBreak(g) {
				c.list = append(c.list, g)
			}
		}
	}
	return c.list
}

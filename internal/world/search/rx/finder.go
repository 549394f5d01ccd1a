package rx

import (
	"bytes"
	"math"
	"slices"
	"strings"
)

// finder looks for places where a match may be: for the literals of one clause, or
// for a triple of bytes that every match contains. Where the processor can, it looks
// at 32 places at once; otherwise each literal is sought by its rarest byte, which
// the standard library finds at memory speed. Literals are then compared.
type finder struct {
	anchors []anchor
	window  *window
	prefix  bool     // a match begins where the window finds it
	places  []needle // with a window: the literals, at being the place of the triple; none means no comparison
}

// anchor is a byte to look for and the needles that hold it.
type anchor struct {
	b       byte
	needles []needle
}

type needle struct {
	text []byte // lower case if fold
	fold bool
	at   int // offset of the anchor byte or of the triple
}

// newFinder builds the finder for the cheapest clause or triple, or none if reading
// every byte with the DFA would cost less. whole says that the one clause is all there
// is to the pattern. literal reports that the finder looks for literals of a clause.
func newFinder(clauses []Clause, whole bool, tree *node, vectors bool) (f *finder, literal bool) {
	c := rarest(clauses)
	if !vectors {
		if c == nil || clauseCost(c) > dfaCost {
			return nil, false
		}
		return newAnchors(c), true
	}
	cost := dfaCost
	if c != nil {
		if lf, lcost := newLiteralWindow(c); lcost < cost {
			f, literal, cost = lf, true, lcost
		}
	}
	if whole && literal {
		return f, true
	}
	if run, prefix := classRun(tree); run != nil && runCost(run, prefix) < cost {
		return &finder{window: newRunWindow(run), prefix: prefix}, false
	}
	return f, literal
}

// classRun finds a run of bytes that every match of n contains, looking at classes as
// well as literals, that begins with the rarest triple. prefix reports that every
// match begins with it; none means that nothing is known.
func classRun(n *node) (best []bytesIn, prefix bool) {
	r := runs{first: true}
	r.add(n)
	r.flush()
	return r.best, r.prefix
}

// newRunWindow looks for a run by its first three bytes.
func newRunWindow(run []bytesIn) *window {
	w := newWindow([]triple{firstTriple(run)})
	w.rest = run[min(3, len(run)):]
	return w
}

// runCost estimates what looking for a run costs per byte of text. Most estimates are
// too low, since bytes of a class like to be neighbours; what is not at the start of a
// match must promise more.
func runCost(run []bytesIn, prefix bool) float64 {
	t := firstTriple(run)
	if prefix {
		return passCost + t.freq()*tryCost
	}
	return 2 * (passCost + t.freq()*reviewCost)
}

// newLiteralWindow looks for the rarest triple of each literal.
func newLiteralWindow(c Clause) (*finder, float64) {
	f, cost := &finder{}, passCost
	var triples []triple
	for _, l := range c {
		l = segment(l)
		if l.Text == "" {
			return nil, math.Inf(1)
		}
		t, at := literalTriple(l)
		triples = append(triples, t)
		f.places = append(f.places, needle{text: []byte(l.Text), fold: l.Fold, at: at})
		cost += t.freq()*missCost + literalFreq(l)*reviewCost
	}
	f.window = newWindow(triples)
	return f, cost
}

// literalTriple is the rarest triple of a literal, and where in it that stands.
func literalTriple(l Literal) (best triple, at int) {
	rarest := math.Inf(1)
	for i := range max(1, len(l.Text)-2) {
		f := 1.0
		for _, c := range []byte(l.Text[i:min(i+3, len(l.Text))]) {
			f *= byteFreq(c, l.Fold)
		}
		if f < rarest {
			rarest, at = f, i
		}
	}
	best = triple{anyByte, anyByte, anyByte}
	for k := range min(3, len(l.Text)-at) {
		c := l.Text[at+k]
		best[k] = bytesIn{}
		best[k][c] = true
		if l.Fold && isLower(c) {
			best[k][c-32] = true
		}
	}
	return best, at
}

// newAnchors looks for the rarest byte of each literal.
func newAnchors(c Clause) *finder {
	f := &finder{}
	for _, l := range c {
		l = segment(l)
		at := rarestByte(l)
		n := needle{text: []byte(l.Text), fold: l.Fold, at: at}
		b := l.Text[at]
		f.add(b, n)
		if l.Fold && isLower(b) {
			f.add(b-32, n)
		}
	}
	return f
}

func (f *finder) add(b byte, n needle) {
	i := slices.IndexFunc(f.anchors, func(a anchor) bool { return a.b == b })
	if i < 0 {
		f.anchors = append(f.anchors, anchor{b: b})
		i = len(f.anchors) - 1
	}
	f.anchors[i].needles = append(f.anchors[i].needles, n)
}

// search is one pass of a finder over one buffer. Each anchor keeps the place of
// its next hit, so that every anchor reads the buffer once.
type search struct {
	finder *finder
	hits   []int // per anchor: the next hit, len(buf) when there is none
	block  block // of the window
	misses int   // anchor bytes that were no needle
}

func (s *search) reset(f *finder) {
	s.finder = f
	s.misses, s.block = 0, block{}
	s.hits = s.hits[:0]
	for range f.anchors {
		s.hits = append(s.hits, -1)
	}
}

// next gives a place within the first hit at from or later, or len(buf).
func (s *search) next(buf []byte, from int) int {
	if s.finder.window != nil {
		return s.nextWindow(buf, from)
	}
	best := len(buf)
	for i, hit := range s.hits {
		if hit < from {
			hit = s.seek(&s.finder.anchors[i], buf, from)
			s.hits[i] = hit
		}
		best = min(best, hit)
	}
	return best
}

func (s *search) nextWindow(buf []byte, from int) int {
	f := s.finder
	for {
		from = f.window.next(buf, from, &s.block)
		if from == len(buf) || len(f.places) == 0 || verify(f.places, buf, from) {
			return from
		}
		s.misses++
		from++
	}
}

// seek looks for a's next hit.
func (s *search) seek(a *anchor, buf []byte, from int) int {
	for p := from; ; p++ {
		i := bytes.IndexByte(buf[p:], a.b)
		if i < 0 {
			return len(buf)
		}
		if p += i; verify(a.needles, buf, p) {
			return p
		}
		s.misses++
	}
}

// verify reports whether one of the needles stands at p.
func verify(needles []needle, buf []byte, p int) bool {
	for i := range needles {
		n := &needles[i]
		if lo := p - n.at; lo >= 0 && lo+len(n.text) <= len(buf) && n.equal(buf[lo:lo+len(n.text)]) {
			return true
		}
	}
	return false
}

func (n *needle) equal(b []byte) bool {
	if !n.fold {
		return string(b) == string(n.text)
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 32
		}
		if c != n.text[i] {
			return false
		}
	}
	return true
}

// segment cuts a folded literal to the rarest part without k and s, whose
// non-ASCII variants have another length.
func segment(l Literal) Literal {
	if !l.Fold {
		return l
	}
	best := Literal{Fold: true}
	for _, part := range strings.FieldsFunc(l.Text, func(r rune) bool { return r == 'k' || r == 's' }) {
		p := Literal{Text: part, Fold: true}
		if best.Text == "" || literalFreq(p) < literalFreq(best) {
			best = p
		}
	}
	return best
}

func isLower(b byte) bool { return 'a' <= b && b <= 'z' }

// byteFreq estimates how often b occurs, in either case if fold.
func byteFreq(b byte, fold bool) float64 {
	f := math.Exp2((float64(commonness[b]) - 255) / 12.75)
	if fold && isLower(b) {
		f += byteFreq(b-32, false)
	}
	return f
}

func rarestByte(l Literal) int {
	best := 0
	for i := range len(l.Text) {
		if byteFreq(l.Text[i], l.Fold) < byteFreq(l.Text[best], l.Fold) {
			best = i
		}
	}
	return best
}

// literalFreq estimates how often l occurs per byte, from its three rarest bytes.
func literalFreq(l Literal) float64 {
	var fs []float64
	for i := range len(l.Text) {
		fs = append(fs, byteFreq(l.Text[i], l.Fold))
	}
	slices.Sort(fs)
	f := 1.0
	for _, x := range fs[:min(3, len(fs))] {
		f *= x
	}
	return f
}

// Costs in nanoseconds per byte of text, for choosing between a finder and the DFA.
const (
	dfaCost    = 2.0
	passCost   = 0.06 // IndexByte over a byte
	missCost   = 8.0  // stopping at an anchor byte
	tryCost    = 20   // looking whether a match begins somewhere
	reviewCost = 150  // looking at a line that holds the literal
)

// clauseCost estimates what looking for c costs per byte of text.
func clauseCost(c Clause) float64 {
	total := 0.0
	for _, l := range c {
		s := segment(l)
		if s.Text == "" {
			return math.Inf(1)
		}
		b := s.Text[rarestByte(s)]
		passes := 1.0
		if s.Fold && isLower(b) {
			passes = 2
		}
		total += passes*passCost + byteFreq(b, s.Fold)*missCost + literalFreq(s)*reviewCost
	}
	return total
}

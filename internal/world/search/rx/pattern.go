package rx

import (
	"bytes"
	"errors"
	"slices"
	"sync"
)

// Options say how a pattern is read. The zero value is a search within lines,
// case counting.
type Options struct {
	IgnoreCase bool
	// Multiline lets a match cross lines and `.` match a line break.
	Multiline bool
	// Portable disables SIMD, for tests.
	Portable bool
}

// Pattern is a compiled regular expression.
type Pattern struct {
	prog     *prog
	lineMode bool
	clauses  []Clause
	finder   *finder // nil: no literal worth looking for
	exact    bool    // a hit of the finder is a match
	matchers sync.Pool
}

// Compile reads expr. An error is a [*SyntaxError] or [ErrTooLarge].
func Compile(expr string, o *Options) (*Pattern, error) {
	if o == nil {
		o = &Options{}
	}
	tree, err := parse(expr, flags{fold: o.IgnoreCase, multi: true, dotNL: o.Multiline}, !o.Multiline)
	if err != nil {
		return nil, err
	}
	p := &Pattern{lineMode: !o.Multiline}
	if p.prog, err = compile(tree); err != nil {
		return nil, err
	}
	clauses, exact := required(tree)
	if exact != nil {
		clauses = []Clause{exact}
	}
	p.clauses = slices.DeleteFunc(clauses, func(c Clause) bool { return !usable(c) })
	whole := p.prog.looks == 0 && exact != nil && usable(exact) &&
		!slices.ContainsFunc(exact, func(l Literal) bool { return segment(l) != l || l.loose })
	var literal bool
	p.finder, literal = newFinder(p.clauses, whole, tree, hasWindows && !o.Portable)
	p.exact = literal && whole
	p.matchers.New = func() any { return &Matcher{pattern: p} }
	return p, nil
}

func compile(n *node) (*prog, error) {
	c := &compiler{prog: &prog{}, tries: map[*span]*trie{}}
	match := c.emit(inst{op: iMatch})
	c.prog.start = c.node(n, match)
	if c.large {
		return nil, ErrTooLarge
	}
	return c.prog, nil
}

// ErrTooLarge is a pattern whose repetitions expand beyond the size limit.
var ErrTooLarge = errors.New("regular expression too large: lower its repetition counts")

// Required lists clauses that hold for every match, each naming literals of which
// the match contains one. None means that nothing is known.
func (p *Pattern) Required() []Clause { return p.clauses }

// Matcher takes a matcher for one goroutine, with what earlier users of it learnt.
func (p *Pattern) Matcher() *Matcher { return p.matchers.Get().(*Matcher) }

// Release gives m back.
func (p *Pattern) Release(m *Matcher) {
	m.Reset(nil)
	m.Stop = nil
	p.matchers.Put(m)
}

// Matcher runs a pattern over one text after another.
type Matcher struct {
	// Stop, when set, is asked now and then whether to give up; the search then
	// ends as if there were no more matches.
	Stop func() bool

	pattern *Pattern
	dfa     *dfa
	pike    *pike
	search  search
	text    []byte
	pos     int
	eager   bool // the literals are too frequent here: read every byte
}

// Reset starts over on text. Within lines, text must end with '\n' unless empty.
func (m *Matcher) Reset(text []byte) {
	m.text, m.pos, m.eager = text, 0, m.pattern.finder == nil
	if !m.eager {
		m.search.reset(m.pattern.finder)
	}
}

// Overlap is how many bytes neighbouring pieces must share for [Matcher.Sieve].
const Overlap = max(maxLiteral, maxRun)

// Sieve reports whether a piece of a text may hold what makes a match. If it reports
// false for each of the pieces that a text is cut into, the text has no match. It ends
// what Reset began.
func (m *Matcher) Sieve(piece []byte) bool {
	if m.pattern.finder == nil {
		return true
	}
	m.search.reset(m.pattern.finder)
	return m.search.next(piece, 0) < len(piece)
}

// Next gives the next match: within lines the whole matching line with its '\n',
// in multi-line mode the span of the match.
func (m *Matcher) Next() (lo, hi int, ok bool) {
	if m.pattern.lineMode {
		return m.nextLine()
	}
	return m.nextSpan()
}

// Spans gives the matches within text, a line without its '\n' or, in multi-line
// mode, any text. They do not overlap, and empty ones are left out.
func (m *Matcher) Spans(text []byte) [][2]int {
	var out [][2]int
	for from := 0; from <= len(text); {
		lo, hi, ok := m.sim().find(text, from)
		if !ok {
			break
		}
		if hi > lo {
			out = append(out, [2]int{lo, hi})
			from = hi
		} else {
			from = hi + 1
		}
	}
	return out
}

// A stop for nothing every few dozen bytes costs more than it saves; reviewing a line
// for nothing costs as much as a few stops, and trying one place less than a stop.
const (
	bytesPerMiss = 24
	lineMisses   = 4
	bytesPerTry  = 8
)

func (m *Matcher) nextLine() (lo, hi int, ok bool) {
	if !m.eager && m.pattern.finder.prefix {
		if lo, hi, ok = m.nextPrefixed(); ok || !m.eager {
			return lo, hi, ok
		}
	}
	for m.pos < len(m.text) {
		at, sure := m.candidate()
		if at >= len(m.text) {
			break
		}
		lo, hi = m.lineAround(at)
		m.pos = hi
		if sure || m.matchLine(lo, hi) {
			return lo, hi, true
		}
		m.search.misses += lineMisses
	}
	m.pos = len(m.text)
	return 0, 0, false
}

// nextPrefixed is nextLine where the finder gives the places at which a match may
// begin. It tries each for as long as a match is in progress and continues from there,
// until that does not pay: then it turns eager and gives no answer.
func (m *Matcher) nextPrefixed() (lo, hi int, ok bool) {
	for at := m.pos; ; {
		if at = m.search.next(m.text, at); at >= len(m.text) {
			m.pos = len(m.text)
			return 0, 0, false
		}
		end, found, quit := m.auto().try(m.text, at, m.Stop)
		if found || quit {
			lo, hi = m.lineAround(end - 1)
			m.pos, at = hi, hi
			if found || m.simulate(lo, hi) {
				return lo, hi, true
			}
			continue
		}
		at = end
		if m.search.misses++; m.search.misses > 64 && m.search.misses*bytesPerTry > at {
			m.pos, _ = m.lineAround(end - 1)
			m.eager = true
			return 0, 0, false
		}
	}
}

// candidate finds a byte of the next line that may match, and whether it surely
// does.
func (m *Matcher) candidate() (at int, sure bool) {
	if m.eager {
		at, found, quit := m.auto().next(m.text, m.pos, m.Stop)
		if !found && !quit {
			return len(m.text), false
		}
		return at, found
	}
	at = m.search.next(m.text, m.pos)
	if m.search.misses > 64 && m.search.misses*bytesPerMiss > m.pos {
		m.eager = true
	}
	return at, m.pattern.exact
}

func (m *Matcher) lineAround(at int) (lo, hi int) {
	lo = m.pos + bytes.LastIndexByte(m.text[m.pos:at], '\n') + 1
	hi = at + bytes.IndexByte(m.text[at:], '\n') + 1
	return lo, hi
}

// matchLine decides the line lo..hi.
func (m *Matcher) matchLine(lo, hi int) bool {
	_, found, quit := m.auto().next(m.text[:hi], lo, m.Stop)
	return found || quit && m.simulate(lo, hi)
}

// simulate decides a line at which the DFA quit.
func (m *Matcher) simulate(lo, hi int) bool {
	_, _, found := m.sim().find(m.text[lo:hi-1], 0)
	return found
}

func (m *Matcher) nextSpan() (lo, hi int, ok bool) {
	if m.pos > len(m.text) {
		return 0, 0, false
	}
	if m.pattern.finder != nil && m.search.next(m.text, m.pos) >= len(m.text) {
		return 0, 0, false
	}
	at, found, quit := m.auto().next(m.text, m.pos, m.Stop)
	if !found && !quit {
		return 0, 0, false
	}
	from := m.pos
	if !quit {
		from = m.auto().idleBefore(m.text, m.pos, at)
	}
	if lo, hi, ok = m.sim().find(m.text, from); ok {
		m.pos = hi
		if hi == lo {
			m.pos++
		}
	}
	return lo, hi, ok
}

func (m *Matcher) auto() *dfa {
	if m.dfa == nil {
		m.dfa = newDFA(m.pattern.prog, m.pattern.lineMode)
	}
	return m.dfa
}

func newDFA(p *prog, lineMode bool) *dfa {
	p.classify()
	d := &dfa{prog: p, lineMode: lineMode, stride: uint32(p.nclasses) + 1, limit: maxTable}
	d.cur, d.nxt = newSparse(len(p.insts)), newSparse(len(p.insts))
	d.reset()
	return d
}

// maxTable bounds the transition table; beyond it the states are forgotten and
// built again as they are met.
const maxTable = 1 << 20

func (m *Matcher) sim() *pike {
	if m.pike == nil {
		m.pike = newPike(m.pattern.prog)
	}
	return m.pike
}

// Locate gives a place near the end of a match in a line that is known to match,
// given with its '\n'. It is for showing the part that matters of a long line.
func (m *Matcher) Locate(line []byte) int {
	at, found, _ := m.auto().next(line, 0, m.Stop)
	if !found {
		_, at, _ = m.sim().find(line[:len(line)-1], 0)
	}
	return at
}

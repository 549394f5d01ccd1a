package rx

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SyntaxError is a pattern that does not parse. Its text is meant for whoever
// wrote the pattern: it shows the place and, where there is one, a way out.
type SyntaxError struct {
	Pattern string
	Offset  int    // byte offset of the fault
	Reason  string // what is wrong
	Hint    string // what to write instead; may be empty
}

func (e *SyntaxError) Error() string {
	s := fmt.Sprintf("invalid regular expression: %s at character %d of %q", e.Reason,
		utf8.RuneCountInString(e.Pattern[:e.Offset])+1, e.Pattern)
	if e.Hint != "" {
		s += ". " + e.Hint
	}
	return s
}

// flags are the inline flags in force. The zero value is not ripgrep's default:
// see parse.
type flags struct {
	fold, multi, dotNL, swapGreed, ascii, verbose bool
}

type parser struct {
	src   string
	pos   int
	flags flags
	depth int
	// lineMode rejects a literal \n and keeps it out of every class, because
	// a line never holds one.
	lineMode bool
}

const maxDepth = 250

// parse reads src. Like ripgrep it starts with ^ and $ matching at lines.
func parse(src string, f flags, lineMode bool) (n *node, err error) {
	if !utf8.ValidString(src) {
		return nil, &SyntaxError{Pattern: src, Reason: "pattern is not valid UTF-8"}
	}
	p := &parser{src: src, flags: f, lineMode: lineMode}
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*SyntaxError)
			if !ok {
				panic(r)
			}
			n, err = nil, e
		}
	}()
	n = p.alternation()
	if p.more() {
		p.fail(p.pos, "unopened group", `Write \) for a literal parenthesis.`)
	}
	return n, nil
}

// fail leaves the recursive descent; parse turns it into an error.
func (p *parser) fail(at int, reason, hint string) {
	panic(&SyntaxError{Pattern: p.src, Offset: at, Reason: reason, Hint: hint})
}

func (p *parser) more() bool            { return p.pos < len(p.src) }
func (p *parser) rest() string          { return p.src[p.pos:] }
func (p *parser) looking(s string) bool { return strings.HasPrefix(p.rest(), s) }
func (p *parser) accept(s string) bool {
	if p.looking(s) {
		p.pos += len(s)
		return true
	}
	return false
}

func (p *parser) next() rune {
	r, n := utf8.DecodeRuneInString(p.rest())
	p.pos += n
	return r
}

// space skips what (?x) makes invisible.
func (p *parser) space() {
	for p.flags.verbose && p.more() {
		r, n := utf8.DecodeRuneInString(p.rest())
		switch {
		case unicode.Is(unicode.White_Space, r):
			p.pos += n
		case r == '#':
			if i := strings.IndexByte(p.rest(), '\n'); i >= 0 {
				p.pos += i + 1
			} else {
				p.pos = len(p.src)
			}
		default:
			return
		}
	}
}

func (p *parser) alternation() *node {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.pos, "groups are nested too deeply", "")
	}
	defer func() { p.depth-- }()
	saved := p.flags
	branches := []*node{p.branch()}
	for p.accept("|") {
		branches = append(branches, p.branch())
	}
	p.flags = saved
	return alternate(branches...)
}

func alternate(subs ...*node) *node {
	if len(subs) == 1 {
		return subs[0]
	}
	return &node{op: opAlt, subs: subs}
}

func (p *parser) branch() *node {
	var subs []*node
	for {
		p.space()
		if !p.more() || p.looking("|") || p.looking(")") {
			return concat(subs...)
		}
		at := p.pos
		if p.repeats() {
			p.fail(at, "repetition operator with nothing to repeat", `Escape it to match the character itself.`)
		}
		atom, isFlags := p.atom()
		if isFlags {
			continue
		}
		subs = append(subs, p.repetition(atom))
	}
}

// repeats says whether a repetition operator stands here.
func (p *parser) repeats() bool {
	switch p.src[p.pos] {
	case '*', '+', '?':
		return true
	case '{':
		_, _, n := p.counts()
		return n > 0
	}
	return false
}

// repetition reads any operators that follow atom.
func (p *parser) repetition(atom *node) *node {
	for {
		p.space()
		if !p.more() {
			return atom
		}
		r := &node{op: opRepeat, subs: []*node{atom}, max: unlimited}
		switch p.src[p.pos] {
		case '*':
			p.pos++
		case '+':
			r.min = 1
			p.pos++
		case '?':
			r.max = 1
			p.pos++
		case '{':
			lo, hi, n := p.counts()
			if n == 0 {
				return atom
			}
			if hi != unlimited && hi < lo {
				p.fail(p.pos, "repetition bounds in reverse order", "")
			}
			r.min, r.max = lo, hi
			p.pos += n
		default:
			return atom
		}
		r.lazy = p.accept("?") != p.flags.swapGreed
		atom = r
	}
}

// counts reads {n}, {n,} or {n,m} at pos and gives its length, 0 if the brace is
// only a brace.
func (p *parser) counts() (lo, hi, n int) {
	end := strings.IndexByte(p.rest(), '}')
	if end < 0 {
		return 0, 0, 0
	}
	low, high, ranged := strings.Cut(p.rest()[1:end], ",")
	lo, ok := count(low)
	if !ok {
		return 0, 0, 0
	}
	switch {
	case !ranged:
		hi = lo
	case strings.TrimSpace(high) == "":
		hi = unlimited
	default:
		if hi, ok = count(high); !ok {
			return 0, 0, 0
		}
	}
	return lo, hi, end + 1
}

func count(s string) (int, bool) {
	v, err := strconv.ParseUint(strings.TrimSpace(s), 10, 20)
	return int(v), err == nil
}

// atom reads one thing that can be repeated. isFlags reports a bare (?flags),
// which cannot.
func (p *parser) atom() (n *node, isFlags bool) {
	at := p.pos
	switch r := p.next(); r {
	case '(':
		return p.group(at)
	case '[':
		return p.class(at), false
	case '.':
		return p.dot(), false
	case '^':
		return p.anchor(lookLineStart, lookTextStart), false
	case '$':
		return p.anchor(lookLineEnd, lookTextEnd), false
	case '\\':
		return p.escape(at), false
	default:
		return p.char(r, at), false
	}
}

// class reads a bracketed class after its '['.
func (p *parser) class(at int) *node {
	s := p.classBody(at)
	return p.setNode(s, false)
}

// escape reads what follows a backslash outside a class.
func (p *parser) escape(at int) *node {
	if s, ok := p.classEscape(at); ok {
		return p.setNode(s, false)
	}
	if l, ok := p.lookEscape(at); ok {
		return &node{op: opLook, look: l}
	}
	r, isByte := p.charEscape(at)
	if isByte && p.flags.ascii {
		return &node{op: opByte, set: single(r)}
	}
	return p.char(r, at)
}

func (p *parser) anchor(line, text look) *node {
	if p.flags.multi || p.lineMode {
		return &node{op: opLook, look: line}
	}
	return &node{op: opLook, look: text}
}

func (p *parser) dot() *node {
	if p.flags.ascii {
		return p.setNode(set{{0, 255}}, !p.flags.dotNL)
	}
	return p.setNode(set{{0, unicode.MaxRune}}, !p.flags.dotNL)
}

// char is the rune itself, in both cases under (?i).
func (p *parser) char(r rune, at int) *node {
	if r == '\n' && p.lineMode {
		p.fail(at, "line break without multiline", "Set multiline to true to match across lines.")
	}
	if p.flags.ascii && r >= 128 {
		var bytes []*node
		for _, b := range []byte(string(r)) {
			bytes = append(bytes, &node{op: opByte, set: single(rune(b))})
		}
		return concat(bytes...)
	}
	return p.setNode(p.folded(single(r)), false)
}

func (p *parser) folded(s set) set {
	switch {
	case !p.flags.fold:
		return s
	case p.flags.ascii:
		return s.foldASCII()
	}
	return s.fold()
}

// setNode is a class over runes, or over bytes under (?-u).
func (p *parser) setNode(s set, noLineBreak bool) *node {
	if (noLineBreak || p.lineMode) && s.has('\n') { // \w stays the set that wordTrie knows
		s = s.minus(single('\n'))
	}
	n := &node{op: opSet, set: s}
	if p.flags.ascii && len(s) > 0 && s[len(s)-1].hi >= 128 {
		n.op = opByte
		n.set = s.intersect(set{{0, 255}})
	}
	return n
}

const noLookaround = "Look-around is not supported (nor in ripgrep by default): match the text itself and read the lines, or run two searches."

func (p *parser) group(at int) (n *node, isFlags bool) {
	for _, s := range []string{"?=", "?!", "?<=", "?<!"} {
		if p.looking(s) {
			p.fail(at, "look-around", noLookaround)
		}
	}
	saved := p.flags
	switch {
	case p.accept("?P<"), p.accept("?<"):
		p.groupName(at)
	case p.accept("?"):
		if p.setFlags(at) {
			return nil, true
		}
	}
	n = p.alternation()
	if !p.accept(")") {
		p.fail(at, "unclosed group", `Write \( for a literal parenthesis.`)
	}
	p.flags = saved
	return n, false
}

func (p *parser) groupName(at int) {
	end := strings.IndexByte(p.rest(), '>')
	if end <= 0 {
		p.fail(at, "unterminated group name", "")
	}
	p.pos += end + 1
}

// setFlags reads the flags after "(?". It reports whether the group ends with
// them, in which case they stay in force.
func (p *parser) setFlags(at int) (closed bool) {
	on := true
	for p.more() {
		switch p.next() {
		case 'i':
			p.flags.fold = on
		case 'm':
			p.flags.multi = on
		case 's':
			p.flags.dotNL = on
		case 'U':
			p.flags.swapGreed = on
		case 'u':
			p.flags.ascii = !on
		case 'x':
			p.flags.verbose = on
		case 'R': // CRLF mode: $ matches before \r\n here anyway
		case '-':
			on = false
		case ':':
			return false
		case ')':
			return true
		default:
			p.fail(at, "unknown flag in group", "")
		}
	}
	p.fail(at, "unclosed group", "")
	return false
}

// classBody reads up to the closing ']' and applies negation and folding. The set
// operators have equal precedence and group to the left.
func (p *parser) classBody(at int) set {
	if p.depth++; p.depth > maxDepth {
		p.fail(at, "character classes are nested too deeply", "")
	}
	defer func() { p.depth-- }()
	p.space()
	negated := p.accept("^")
	var acc set
	operate := func(_, b set) set { return b }
	items, first := set(nil), true
	for {
		p.space()
		if !p.more() {
			p.fail(at, "unclosed character class", `Write \[ for a literal bracket.`)
		}
		switch {
		case !first && p.accept("]"):
			acc = operate(acc, p.folded(normalize(items)))
			if negated {
				acc = acc.negate(p.top())
			}
			return acc
		case p.accept("&&"):
			acc = operate(acc, p.folded(normalize(items)))
			operate, items = set.intersect, nil
		case p.accept("--"):
			if first { // leading dashes are literal
				items = append(items, span{'-', '-'})
				break
			}
			acc = operate(acc, p.folded(normalize(items)))
			operate, items = set.minus, nil
		case p.accept("~~"):
			acc = operate(acc, p.folded(normalize(items)))
			operate, items = symmetric, nil
		default:
			items = append(items, p.classItem(at)...)
		}
		first = false
	}
}

// classItem reads one element: a nested class, an escape class, a character or a
// range.
func (p *parser) classItem(at int) set {
	if p.looking("[:") {
		if s, ok := p.posix(); ok {
			return s
		}
	}
	if p.accept("[") {
		return p.classBody(p.pos - 1)
	}
	start := p.pos
	if p.accept(`\`) {
		if s, ok := p.classEscape(start); ok {
			return s
		}
		p.pos = start
	}
	lo := p.classChar()
	p.space()
	if !p.looking("-") || p.looking("-]") || p.looking("--") {
		return set{{lo, lo}}
	}
	p.pos++
	p.space()
	if !p.more() {
		p.fail(at, "unclosed character class", "")
	}
	hi := p.classChar()
	if hi < lo {
		p.fail(start, "character range in reverse order", "")
	}
	return set{{lo, hi}}
}

func (p *parser) classChar() rune {
	at := p.pos
	r := p.next()
	if r == '\\' {
		if p.looking("b") { // \b is no assertion in a class, and no backspace either
			p.fail(at, `\b is not supported in a character class`, "")
		}
		r, _ = p.charEscape(at)
	}
	if r == '\n' && p.lineMode {
		p.fail(at, "line break without multiline", "Set multiline to true to match across lines.")
	}
	return r
}

// posix reads [:name:] or [:^name:]; anything else is left to be a nested class.
func (p *parser) posix() (set, bool) {
	end := strings.Index(p.rest(), ":]")
	if end < 0 {
		return nil, false
	}
	name := p.rest()[2:end]
	negated := strings.HasPrefix(name, "^")
	s, ok := posixSets[strings.TrimPrefix(name, "^")]
	if !ok {
		return nil, false
	}
	p.pos += end + 2
	if negated {
		s = s.negate(p.top())
	}
	return s, true
}

func (p *parser) lookEscape(at int) (look, bool) {
	if !p.more() {
		return 0, false
	}
	switch p.src[p.pos] {
	case 'A':
		p.pos++
		return p.whole(lookTextStart, lookLineStart), true
	case 'z':
		p.pos++
		return p.whole(lookTextEnd, lookLineEnd), true
	case 'B':
		p.pos++
		return p.boundary(lookNotWord, lookASCIINotWord), true
	case '<':
		p.pos++
		return lookWordStart, true
	case '>':
		p.pos++
		return lookWordEnd, true
	case 'b':
		p.pos++
		return p.wordEscape(at), true
	}
	return 0, false
}

// whole picks the text assertion, or the line one where lines are all there is.
func (p *parser) whole(text, line look) look {
	if p.lineMode {
		return line
	}
	return text
}

func (p *parser) boundary(unicode, ascii look) look {
	if p.flags.ascii {
		return ascii
	}
	return unicode
}

func (p *parser) wordEscape(at int) look {
	if !p.looking("{") {
		return p.boundary(lookWord, lookASCIIWord)
	}
	for name, l := range map[string]look{
		"{start}": lookWordStart, "{end}": lookWordEnd,
		"{start-half}": lookHalfStart, "{end-half}": lookHalfEnd,
	} {
		if p.accept(name) {
			return l
		}
	}
	if _, _, n := p.counts(); n == 0 {
		p.fail(at, "unknown word boundary", `Use \b, \b{start} or \b{end}.`)
	}
	return p.boundary(lookWord, lookASCIIWord)
}

// classEscape reads \d \s \w \pX and their negations, valid in and out of a class.
func (p *parser) classEscape(at int) (set, bool) {
	if !p.more() {
		return nil, false
	}
	c := p.src[p.pos]
	var s set
	switch c {
	case 'd', 'D':
		s = p.perl(digitSet, asciiDigit)
	case 's', 'S':
		s = p.perl(spaceSet, asciiSpace)
	case 'w', 'W':
		s = p.perl(wordSet, asciiWord)
	case 'p', 'P':
		p.pos++
		return p.property(at, c == 'P'), true
	default:
		return nil, false
	}
	p.pos++
	if c < 'a' {
		s = s.negate(p.top())
	}
	return s, true
}

// top is the largest member a class may have.
func (p *parser) top() rune {
	if p.flags.ascii {
		return 255
	}
	return unicode.MaxRune
}

func (p *parser) perl(full func() set, ascii set) set {
	if p.flags.ascii {
		return ascii
	}
	return full()
}

func (p *parser) property(at int, negated bool) set {
	name := ""
	if p.accept("{") {
		end := strings.IndexByte(p.rest(), '}')
		if end < 0 {
			p.fail(at, "unclosed property name", "")
		}
		name = p.rest()[:end]
		p.pos += end + 1
	} else if p.more() {
		name = string(p.next())
	}
	s, ok := property(name)
	if !ok {
		p.fail(at, "unknown Unicode property", `Use a category such as \p{Lu} or a script such as \p{Greek}.`)
	}
	s = p.folded(s)
	if negated {
		s = s.negate(unicode.MaxRune)
	}
	return s
}

// charEscape reads an escape that stands for one character. isByte reports \xNN,
// which is a raw byte under (?-u).
func (p *parser) charEscape(at int) (r rune, isByte bool) {
	if !p.more() {
		p.fail(at, "trailing backslash", `Write \\ for a literal backslash.`)
	}
	switch r = p.next(); r {
	case 'a':
		return '\a', false
	case 'f':
		return '\f', false
	case 't':
		return '\t', false
	case 'n':
		return '\n', false
	case 'r':
		return '\r', false
	case 'v':
		return '\v', false
	case 'x':
		return p.hex(at, 2)
	case 'u':
		r, _ = p.hex(at, 4)
		return r, false
	case 'U':
		r, _ = p.hex(at, 8)
		return r, false
	}
	switch {
	case '1' <= r && r <= '9' || r == '0':
		p.fail(at, "back-reference", "Back-references are not supported (nor in ripgrep by default): spell out the repeated text.")
	case r >= 128, r < ' ', isWordByte(byte(r)) && r != '_':
		p.fail(at, "unknown escape", `Write \\ for a literal backslash.`)
	}
	return r, false
}

func (p *parser) hex(at, digits int) (r rune, isByte bool) {
	text := ""
	if p.accept("{") {
		end := strings.IndexByte(p.rest(), '}')
		if end < 0 {
			p.fail(at, "unclosed hexadecimal escape", "")
		}
		text = p.rest()[:end]
		p.pos += end + 1
	} else if len(p.rest()) >= digits {
		text = p.rest()[:digits]
		p.pos += digits
		isByte = digits == 2
	}
	v, err := strconv.ParseUint(text, 16, 32)
	if err != nil || v > unicode.MaxRune || 0xD800 <= v && v < 0xE000 {
		p.fail(at, "bad hexadecimal escape", `Write it as \x{41}.`)
	}
	return rune(v), isByte
}

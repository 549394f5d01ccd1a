package rx

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lines gives the lines of text that expr matches.
func lines(t testing.TB, expr, text string, o *Options) []string {
	t.Helper()
	p, err := Compile(expr, o)
	if err != nil {
		t.Fatalf("Compile(%q): %v", expr, err)
	}
	return linesOf(p, text)
}

func linesOf(p *Pattern, text string) []string {
	m := p.Matcher()
	defer p.Release(m)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	m.Reset([]byte(text))
	var out []string
	for lo, hi, ok := m.Next(); ok; lo, hi, ok = m.Next() {
		out = append(out, strings.TrimSuffix(text[lo:hi], "\n"))
	}
	return out
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		name, expr, text string
		fold             bool
		want             []string
	}{
		{"a literal is found in its line", "needle", "hay\na needle b\nhay", false, []string{"a needle b"}},
		{"an alternation of literals", "TODO|FIXME", "x TODO\ny\nFIXME z", false, []string{"x TODO", "FIXME z"}},
		{"an empty pattern matches every line", "", "a\n\nb", false, []string{"a", "", "b"}},
		{"an empty branch matches every line", "a|", "x\n\n", false, []string{"x", ""}},
		{"an empty line", "^$", "a\n\nb", false, []string{""}},
		{"no line follows the last line break", "^$", "a\n", false, nil},
		{"the end of a line with carriage return", "b$", "ab\r\nabc\r\n", false, []string{"ab\r"}},
		{"an empty line with carriage return", "^$", "a\r\n\r\n", false, []string{"\r"}},
		{"a class is Unicode", `^\w+$`, "héllo\nщука\na-b", false, []string{"héllo", "щука"}},
		{"a digit is Unicode", `\d`, "٣\nx", false, []string{"٣"}},
		{"a boundary is Unicode", `\bcole\b`, "école\ncole", false, []string{"cole"}},
		{"a boundary before classes is Unicode", `\b0x[0-9a-f]{4}`, "é0x1234\né 0x1234", false, []string{"é 0x1234"}},
		{"no boundary before classes is Unicode", `\B0x[0-9a-f]{4}`, "é0x1234\né 0x1234", false, []string{"é0x1234"}},
		{"a match begins within an attempt that fails", `0x[0-9]{4}`, "0x0x1234\n0x120x1234\n0x12", false, []string{"0x0x1234", "0x120x1234"}},
		{"a boundary beside ASCII", `\bfoo\b`, "foo_bar\nfoo.bar", false, []string{"foo.bar"}},
		{"word start and end", `\<foo\>`, "foo\nfoobar\nbarfoo", false, []string{"foo"}},
		{"no boundary", `\Bfoo`, "foo\nafoo", false, []string{"afoo"}},
		{"folding reaches the Kelvin sign", "kelvin", "\u212Aelvin\nKELVIN\nmelvin", true, []string{"\u212Aelvin", "KELVIN"}},
		{"folding reaches the long s", "mess", "me\u017F\u017F\nMeSs\nmeff", true, []string{"me\u017F\u017F", "MeSs"}},
		{"folding Greek", "σ", "ς\nΣ\nx", true, []string{"ς", "Σ"}},
		{"an inline flag", "(?i)ab(?-i)c", "ABc\nABC", false, []string{"ABc"}},
		{"a scoped flag", "(?i:a)b", "Ab\nAB", false, []string{"Ab"}},
		{"invalid UTF-8 is matched by no dot", "^a.b$", "a\xffb\na b", false, []string{"a b"}},
		{"raw bytes without Unicode", `(?-u)a\xffb`, "a\xffb\nab", false, []string{"a\xffb"}},
		{"the rest of an invalid line is searched", "needle", "\xff\xfe needle", false, []string{"\xff\xfe needle"}},
		{"class intersection", `^[a-z&&[^aeiou]]+$`, "xyz\nxaz", false, []string{"xyz"}},
		{"class difference", `^[a-z--m-p]+$`, "xyz\nmno", false, []string{"xyz"}},
		{"class symmetric difference", `^[a-g~~c-k]+$`, "ab\ncd\nhi", false, []string{"ab", "hi"}},
		{"nested class", `^[[a-c]x]+$`, "abx\nd", false, []string{"abx"}},
		{"POSIX class", `^[[:upper:][:digit:]]+$`, "A1\na1", false, []string{"A1"}},
		{"a bracket first in its class", `[]a]x`, "]x\nax\nbx", false, []string{"]x", "ax"}},
		{"a dash last in its class", `^[a-]+$`, "a-\nb", false, []string{"a-"}},
		{"braces that count nothing", `interface{}`, "interface{}\ninterface", false, []string{"interface{}"}},
		{"braces around a name", `\${x}`, "a ${x} b\n$x", false, []string{"a ${x} b"}},
		{"counted repetition", `^a{2,3}$`, "a\naa\naaa\naaaa", false, []string{"aa", "aaa"}},
		{"verbose mode", "(?x) a b # comment\n c", "abc\na b c", false, []string{"abc"}},
		{"a script", `\p{Greek}`, "αβ\nab", false, []string{"αβ"}},
		{"a long category name", `\p{Uppercase_Letter}b`, "Ab\nab", false, []string{"Ab"}},
		{"text anchors are line anchors within lines", `\Ab\z`, "a\nb\n", false, []string{"b"}},
		{"white space does not swallow the line break", `a\s`, "a\na b", false, []string{"a b"}},
		{"a negated class does not cross lines", `a[^x]b`, "a\nb\nayb", false, []string{"ayb"}},
		{"no class without Unicode letters", `(?-u)\w+é`, "aé\né", false, []string{"aé"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, lines(t, c.expr, c.text, &Options{IgnoreCase: c.fold})); d != "" {
				t.Errorf("%q (-want +got):\n%s", c.expr, d)
			}
		})
	}
}

func TestSyntaxErrors(t *testing.T) {
	for expr, want := range map[string]string{
		`a(?=b)`:  `invalid regular expression: look-around at character 2 of "a(?=b)". ` + noLookaround,
		`(?<!a)b`: `invalid regular expression: look-around at character 1 of "(?<!a)b". ` + noLookaround,
		`(a)\1`:   `invalid regular expression: back-reference at character 4 of "(a)\\1". Back-references are not supported (nor in ripgrep by default): spell out the repeated text.`,
		`a\nb`:    `invalid regular expression: line break without multiline at character 2 of "a\\nb". Set multiline to true to match across lines.`,
		`(`:       `invalid regular expression: unclosed group at character 1 of "(". Write \( for a literal parenthesis.`,
		`a)`:      `invalid regular expression: unopened group at character 2 of "a)". Write \) for a literal parenthesis.`,
		`[a`:      `invalid regular expression: unclosed character class at character 1 of "[a". Write \[ for a literal bracket.`,
		`*a`:      `invalid regular expression: repetition operator with nothing to repeat at character 1 of "*a". Escape it to match the character itself.`,
		`\y`:      `invalid regular expression: unknown escape at character 1 of "\\y". Write \\ for a literal backslash.`,
		`a{3,2}`:  `invalid regular expression: repetition bounds in reverse order at character 2 of "a{3,2}"`,
	} {
		_, err := Compile(expr, nil)
		if err == nil || err.Error() != want {
			t.Errorf("Compile(%q):\n got %v\nwant %s", expr, err, want)
		}
		if se := (*SyntaxError)(nil); !errors.As(err, &se) {
			t.Errorf("Compile(%q): %T is no SyntaxError", expr, err)
		}
	}
	if _, err := Compile(`(\w{500}){500}`, nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a huge repetition: got %v, want ErrTooLarge", err)
	}
}

func TestMultiline(t *testing.T) {
	for _, c := range []struct {
		name, expr, text string
		want             []string
	}{
		{"a match crosses lines", `a\nb`, "xa\nby", []string{"a\nb"}},
		{"the dot crosses lines", `a.*c`, "a\nb\nc\nd", []string{"a\nb\nc"}},
		{"a lazy dot stops early", `<.*?>`, "<a\n> <b>", []string{"<a\n>", "<b>"}},
		{"preference decides between branches", `foo|foobar`, "foobar", []string{"foo"}},
		{"the leftmost match wins over the one that ends first", `abcd|c`, "abcd", []string{"abcd"}},
		{"line anchors", `^b$`, "a\nb\nc", []string{"b"}},
		{"text anchors", `\Aa`, "a\na", []string{"a"}},
		{"boundaries beside other scripts", `\bé\w`, "aé éa", []string{"éa"}},
		{"a class holds the line break", `a\s+b`, "a \n b", []string{"a \n b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Compile(c.expr, &Options{Multiline: true})
			if err != nil {
				t.Fatal(err)
			}
			m := p.Matcher()
			defer p.Release(m)
			m.Reset([]byte(c.text))
			var got []string
			for lo, hi, ok := m.Next(); ok; lo, hi, ok = m.Next() {
				got = append(got, c.text[lo:hi])
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// randomPattern makes a pattern in the syntax that Go and Rust share, over a tiny
// alphabet so that it often matches.
func randomPattern(r *rand.Rand, depth int) string {
	atoms := []string{"a", "b", "ab", "ba", "k", "s", ".", "[ab]", "[^a]", "_", "-", "aab", "bks"}
	switch n := r.IntN(12); {
	case depth == 0 || n < 4:
		return atoms[r.IntN(len(atoms))]
	case n < 7:
		return randomPattern(r, depth-1) + randomPattern(r, depth-1)
	case n == 7:
		return "(?:" + randomPattern(r, depth-1) + "|" + randomPattern(r, depth-1) + ")"
	case n == 8:
		return "(?:" + randomPattern(r, depth-1) + ")" + []string{"*", "+", "?", "{2}", "{1,3}", "*?", "+?"}[r.IntN(7)]
	case n == 9:
		return "^" + randomPattern(r, depth-1)
	case n == 10:
		return randomPattern(r, depth-1) + "$"
	default:
		return `\b` + randomPattern(r, depth-1)
	}
}

func randomText(r *rand.Rand, n int) string {
	alphabet := "aabbks_- \nAB\n"
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

// TestAgainstStandardLibrary compares lines and spans with package regexp, where
// the two agree on meaning (ASCII, no carriage returns), and checks that every
// matching line satisfies the required literals.
func TestAgainstStandardLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 800 {
		expr, fold := randomPattern(r, 4), r.IntN(3) == 0
		text := randomText(r, 200)
		std := "(?m)" + expr
		if fold {
			std = "(?mi)" + expr
		}
		re := regexp.MustCompile(std)
		var want []string
		for _, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			if re.MatchString(l) {
				want = append(want, l)
			}
		}
		p, err := Compile(expr, &Options{IgnoreCase: fold, Portable: true})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, linesOf(p, text)); d != "" {
			t.Fatalf("portable: %q fold=%v on %q (-want +got):\n%s", expr, fold, text, d)
		}
		if p, err = Compile(expr, &Options{IgnoreCase: fold}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, linesOf(p, text)); d != "" {
			t.Fatalf("%q fold=%v on %q (-want +got):\n%s", expr, fold, text, d)
		}
		m := p.Matcher()
		for _, l := range want {
			if !satisfies(l, p.Required()) {
				t.Fatalf("%q matches %q, which lacks %v", expr, l, p.Required())
			}
			// Repeating what may be empty picks different, equally long-winded
			// spans in the two; nobody writes it.
			if regexp.MustCompile(`[*+?}]\)[*+{]`).MatchString(expr) {
				continue
			}
			if d := cmp.Diff(nonEmpty(re.FindAllStringIndex(l, -1)), m.Spans([]byte(l))); d != "" {
				t.Fatalf("spans of %q in %q (-want +got):\n%s", expr, l, d)
			}
		}
	}
}

// TestPatternsThatBeginWithClasses tries them on texts full of near misses, up to where
// trying every place no longer pays.
func TestPatternsThatBeginWithClasses(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, expr := range []string{`0x[0-9a-f]{4}\b`, `\b0x[0-9a-f]{2,3}\b`, `\B0x[0-9]`, `^0x[0-9a-f]+$`, `0x[0-9a-f]{2}.*a0`, `0x[0-9a-f]{20}`} {
		p, err := Compile(expr, nil)
		if err != nil {
			t.Fatal(err)
		}
		if hasWindows && !p.finder.prefix {
			t.Errorf("%q is not sought by its beginning", expr)
		}
		sim := newPike(p.prog)
		for _, alphabet := range []string{"0x0xa \n", "0xa1 -\né", "0xa1 -------------------------------------------------------\n"} {
			runes := []rune(alphabet)
			var text strings.Builder
			for range 4000 {
				text.WriteRune(runes[r.IntN(len(runes))])
			}
			var want []string
			for l := range strings.Lines(text.String()) {
				l = strings.TrimSuffix(l, "\n")
				if _, _, ok := sim.find([]byte(l), 0); ok {
					want = append(want, l)
				}
			}
			if d := cmp.Diff(want, linesOf(p, text.String())); d != "" {
				t.Errorf("%q over %q (-simulation +engine):\n%s", expr, alphabet, d)
			}
		}
	}
}

// TestStatesBeyondTheTable has a pattern with more states than the DFA keeps at once.
func TestStatesBeyondTheTable(t *testing.T) {
	const width, limit = 9, 1000
	p, err := Compile(fmt.Sprintf("a[ab]{%d}c", width), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, 8))
	text := make([]byte, 20_000)
	for i := range text {
		text[i] = "ab"[r.IntN(2)]
		if r.IntN(100) == 0 {
			text[i] = "c\n"[r.IntN(2)]
		}
	}
	seen := map[string]bool{}
	for i := range len(text) - width {
		seen[string(text[i:i+width])] = true
	}
	var want []string
	for l := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n") {
		for i := range len(l) - width - 1 {
			if l[i] == 'a' && l[i+width+1] == 'c' && !strings.Contains(l[i:i+width+1], "c") {
				want = append(want, l)
				break
			}
		}
	}
	m := p.Matcher()
	m.Reset(append(text, '\n'))
	m.eager = true // read every byte with the DFA
	m.auto().limit = limit
	var got []string
	for lo, hi, ok := m.Next(); ok; lo, hi, ok = m.Next() {
		got = append(got, string(m.text[lo:hi-1]))
	}
	if d := cmp.Diff(want, got); d != "" || len(want) == 0 {
		t.Errorf("(-want +got):\n%s", d)
	}
	if stride := int(m.dfa.stride); len(seen)*stride < 2*limit || len(m.dfa.trans) > limit+2*stride {
		t.Errorf("%d states of %d entries, and the table has %d", len(seen), stride, len(m.dfa.trans))
	}
}

func TestWordsShareOneTrie(t *testing.T) {
	p, err := Compile(`\w+\(`, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range p.prog.insts {
		if in.trie != nil && len(in.trie.cont) > 0 && in.trie != wordTrie() {
			t.Fatal("\\w was built again")
		}
	}
}

func nonEmpty(spans [][]int) [][2]int {
	var out [][2]int
	for _, s := range spans {
		if s[1] > s[0] {
			out = append(out, [2]int{s[0], s[1]})
		}
	}
	return out
}

func satisfies(text string, clauses []Clause) bool {
	for _, c := range clauses {
		ok := false
		for _, l := range c {
			if l.Fold {
				ok = ok || strings.Contains(strings.ToLower(text), l.Text)
			} else {
				ok = ok || strings.Contains(text, l.Text)
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

// FuzzEngines checks that the prefilter, the DFA and the simulation agree.
func FuzzEngines(f *testing.F) {
	f.Add(`\bfoo\w+`, "foobar é foo\nx", true)
	f.Add(`(?i)K|s`, "\u212A\n\u017F", false)
	f.Add(`[^a]$`, "a\xff\r\n", false)
	f.Fuzz(func(t *testing.T, expr, text string, fold bool) {
		p, err := Compile(expr, &Options{IgnoreCase: fold})
		if err != nil || len(p.prog.insts) > 5000 || len(text) > 1000 {
			return
		}
		got := linesOf(p, text)
		portable, err := Compile(expr, &Options{IgnoreCase: fold, Portable: true})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(linesOf(portable, text), got); d != "" {
			t.Errorf("%q (-portable +vectors):\n%s", expr, d)
		}
		var want []string
		sim := newPike(p.prog)
		for l := range strings.Lines(text) {
			l = strings.TrimSuffix(l, "\n")
			if _, _, ok := sim.find([]byte(l), 0); ok {
				want = append(want, l)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q (-simulation +engine):\n%s", expr, d)
		}
	})
}

package edits

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

func parse(t testing.TB, s string) *textfile.Text {
	t.Helper()
	text, err := textfile.Parse([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestApply(t *testing.T) {
	cases := []struct {
		name  string
		file  string
		edits []Edit
		want  string
		notes []string
	}{
		{"one match is replaced", "a\nb\n", []Edit{{Old: "b", New: "c"}}, "a\nc\n", nil},
		{"all matches are replaced", "x x x", []Edit{{Old: "x", New: "y", All: true}}, "y y y", nil},
		{"as many as expected are replaced", "x x", []Edit{{Old: "x", New: "y", Expect: 2}}, "y y", nil},
		{"overlapping matches of all are replaced from the left", "aaa", []Edit{{Old: "aa", New: "b", All: true}}, "ba", nil},
		{"new lines in a CRLF file end as the file's do", "a\r\nb\r\n", []Edit{{Old: "a", New: "a\nx"}}, "a\r\nx\r\nb\r\n", nil},
		{"several lines of a CRLF file match", "a\r\nb\r\nc\r\n", []Edit{{Old: "a\nb\n", New: "a\nB\n"}}, "a\r\nB\r\nc\r\n",
			[]string{"old_string matched with the file's own line endings (CRLF), which were kept."}},
		{"mixed endings stay line by line", "a\r\nb\nc\r\n", []Edit{{Old: "a\nb\nc\n", New: "a\nb\nC\n"}}, "a\r\nb\nC\r\n",
			[]string{"old_string matched with the file's own line endings (mixed), which were kept."}},
		{"lines of a CR file match", "a\rb\rc", []Edit{{Old: "a\nb", New: "a\nB\nx"}}, "a\rB\rx\rc",
			[]string{"old_string matched with the file's own line endings (CR), which were kept."}},
		{"a newline taken from a CRLF file goes whole", "a\r\nb\r\n", []Edit{{Old: "\nb", New: " b"}}, "a b\r\n",
			[]string{"old_string matched with the file's own line endings (CRLF), which were kept."}},
		{"CRLF in new_string is meant in an LF file", "a\nb\n", []Edit{{Old: "b", New: "b\r\nc"}}, "a\nb\r\nc\n", nil},
		{"spaces for tabs", "func f() {\n\tif x {\n\t\treturn\n\t}\n}\n", []Edit{{Old: "    if x {\n        return\n    }", New: "\tif y {\n\t}"}},
			"func f() {\n\tif y {\n\t}\n}\n",
			[]string{"old_string matched with a different indentation: the file has a tab for each 4 spaces of old_string. new_string was inserted exactly as given; check its indentation."}},
		{"a lost common indentation", "  a\n    b\n", []Edit{{Old: "a\n  b\n", New: "  z\n"}}, "  z\n",
			[]string{"old_string matched with a different indentation: each line in the file has 2 spaces more. new_string was inserted exactly as given; check its indentation."}},
		{"a first line that begins in its middle", "if x {\n\t\tfoo(a,\n\t\t\tb)\n}\n", []Edit{{Old: "foo(a,\n            b)", New: "foo(b)"}}, "if x {\n\t\tfoo(b)\n}\n",
			[]string{"old_string matched with a different indentation: the file has a tab for each 4 spaces of old_string. new_string was inserted exactly as given; check its indentation."}},
		{"numbers that are data", "a\n", []Edit{{Old: "a", New: "1\tx\n7\ty"}}, "1\tx\n7\ty\n", nil},
		{"curly quotes are inserted as they are", "say \"hi\"\n", []Edit{{Old: "say \"hi\"", New: "say “hi”"}}, "say “hi”\n", nil},
		{"edits apart apply together", "a b c", []Edit{{Old: "a", New: "1"}, {Old: "c", New: "3"}}, "1 b 3", nil},
		{"a later edit may change what an earlier one put there", "f()", []Edit{{Old: "f()", New: "g(x)"}, {Old: "g(x)", New: "g(x, y)"}}, "g(x, y)", nil},
		{"a byte-order mark stays", "\ufeffa\n", []Edit{{Old: "a", New: "b"}}, "\ufeffb\n", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, err := Apply(parse(t, c.file), c.edits)
			if err != nil {
				t.Fatal(err)
			}
			if string(r.Raw) != c.want {
				t.Errorf("got %q, want %q", r.Raw, c.want)
			}
			if d := cmp.Diff(c.notes, r.Notes); d != "" {
				t.Error(d)
			}
		})
	}
}

// refusals has one case per text a model can read; the texts are in testdata/refusals.golden.
var refusals = []struct {
	name  string
	file  string
	edits []Edit
	kind  kind
	pair  [2]int
}{
	{"empty old string", "a", []Edit{{New: "b"}}, kindEmptyOld, [2]int{}},
	{"same strings", "a", []Edit{{Old: "a", New: "a"}}, kindNoChange, [2]int{}},
	{"only line endings differ", "a\r\nb\r\n", []Edit{{Old: "a\nb\n", New: "a\r\nb\r\n"}}, kindNoChange, [2]int{}},
	{"edits that undo each other", "a b", []Edit{{Old: "a", New: "x"}, {Old: "x b", New: "a b"}}, kindOverlap, [2]int{1, 2}},
	{"three matches", "x\nx\nx\n", []Edit{{Old: "x", New: "y"}}, kindAmbiguous, [2]int{}},
	{"overlapping matches are two", "aaa", []Edit{{Old: "aa", New: "b"}}, kindAmbiguous, [2]int{}},
	{"matches that differ in endings only are two", "a\nb\n\na\r\nb\r\n", []Edit{{Old: "a\nb\n", New: "z\n"}}, kindAmbiguous, [2]int{}},
	{"twelve matches", strings.Repeat("x\n", 12), []Edit{{Old: "x", New: "y"}}, kindAmbiguous, [2]int{}},
	{"not as many as expected", "x\nx\n", []Edit{{Old: "x", New: "y", Expect: 3}}, kindWrongCount, [2]int{}},
	{"line numbers", "alpha\nbeta\n", []Edit{{Old: "1\talpha\n2\tbeta", New: "z"}}, kindLineNumbers, [2]int{}},
	{"line numbers of another file", "alpha\nbeta\n", []Edit{{Old: "     7→gamma", New: "z"}}, kindLineNumbers, [2]int{}},
	{"line numbers before two spaces", "alpha\n  beta\n", []Edit{{Old: "1  alpha\n2    beta", New: "z"}}, kindLineNumbers, [2]int{}},
	{"line numbers of Grep", "alpha\nbeta\n", []Edit{{Old: "1:alpha\n2-beta", New: "z"}}, kindLineNumbers, [2]int{}},
	{"paths and line numbers of Grep", "alpha\nbeta\n", []Edit{{Old: "src/a.go:1:alpha\nsrc/a.go-2-beta", New: "z"}}, kindLineNumbers, [2]int{}},
	{"what only looks like line numbers", "alpha\nbeta\n", []Edit{{Old: "10:30 gamma", New: "z"}}, kindNotFound, [2]int{}},
	{"line numbers in the new text", "alpha\nbeta\n", []Edit{{Old: "alpha\nbeta", New: "1\talpha\n2\tgamma"}}, kindLineNumbers, [2]int{}},
	{"half a word under another indentation", "\tif x {\n\t\treturnValue()\n\t}\n", []Edit{{Old: "    if x {\n        return", New: "z"}}, kindNotFound, [2]int{}},
	{"nothing like it", "alpha\nbeta\n", []Edit{{Old: "unrelated text here", New: "z"}}, kindNotFound, [2]int{}},
	{"an empty file", "", []Edit{{Old: "a", New: "z"}}, kindNotFound, [2]int{}},
	{"tabs against spaces, not uniform", "func f() {\n\tif x {\n\t  return 1\n\t}\n}\n", []Edit{{Old: "    if x {\n        return 1\n    }", New: "z"}}, kindNotFound, [2]int{}},
	{"a no-break space", "price:\u00a010 EUR\n", []Edit{{Old: "price: 10 EUR", New: "z"}}, kindNotFound, [2]int{}},
	{"curly quotes are not straight ones", "print(“hello”)\n", []Edit{{Old: "print(\"hello\")", New: "z"}}, kindNotFound, [2]int{}},
	{"a trailing space", "one\ntwo \nthree\n", []Edit{{Old: "one\ntwo\nthree", New: "z"}}, kindNotFound, [2]int{}},
	{"a word that changed", "func compute(total int) int {\n\treturn total * 2\n}\n", []Edit{{Old: "func compute(total int) int {\n\treturn total + 2\n}", New: "z"}}, kindNotFound, [2]int{}},
	{"only similar", "func computeTotal(a int) {\n}\n", []Edit{{Old: "func computeTotals(a, b int) {", New: "z"}}, kindNotFound, [2]int{}},
	{"old string longer than the file", "a long enough line\n", []Edit{{Old: "a long enough line\nand another one\n", New: "z"}}, kindNotFound, [2]int{}},
	{"two places fit by indentation", "\tx = 1\n\n\t\tx = 1\n", []Edit{{Old: "      x = 1\n", New: "z", All: true}}, kindAmbiguous, [2]int{}},
	{"the second edit is not found", "a b\n", []Edit{{Old: "a", New: "c"}, {Old: "zzzz", New: "d"}}, kindNotFound, [2]int{}},
	{"overlapping spans", "alpha beta gamma", []Edit{{Old: "alpha beta", New: "1"}, {Old: "beta gamma", New: "2"}}, kindOverlap, [2]int{1, 2}},
	{"across a seam", "abXcd", []Edit{{Old: "X", New: ""}, {Old: "bc", New: "2"}}, kindOverlap, [2]int{1, 2}},
	{"the same text twice", "a b", []Edit{{Old: "a", New: "1"}, {Old: "b", New: "2"}, {Old: "a", New: "3"}}, kindContradiction, [2]int{1, 3}},
	{"there and back", "a b", []Edit{{Old: "b", New: "c"}, {Old: "a", New: "x"}, {Old: "x", New: "a"}}, kindContradiction, [2]int{2, 3}},
	{"wrong order", "a b", []Edit{{Old: "fresh", New: "1"}, {Old: "a", New: "fresh"}}, kindDependency, [2]int{1, 2}},
	{"also in inserted text", "foo bar", []Edit{{Old: "bar", New: "foo"}, {Old: "foo", New: "baz", All: true}}, kindDependency, [2]int{1, 2}},
}

func TestRefusals(t *testing.T) {
	var texts strings.Builder
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			_, err := Apply(parse(t, c.file), c.edits)
			var no *refusal
			if !errors.As(err, &no) {
				t.Fatalf("error %v, want a refusal", err)
			}
			if no.kind != c.kind {
				t.Errorf("kind %q, want %q", no.kind, c.kind)
			}
			if c.pair != [2]int{} && c.pair != [2]int{no.Other, no.Edit} {
				t.Errorf("edits %d and %d, want %v", no.Other, no.Edit, c.pair)
			}
			texts.WriteString("== " + c.name + "\n" + no.Error() + "\n\n")
		})
	}
	golden.Check(t, "testdata/refusals.golden", texts.String())
}

// TestManyReplacementsStayCheap guards against work per match that grows with the file.
func TestManyReplacementsStayCheap(t *testing.T) {
	for name, file := range map[string]string{
		"one line": strings.Repeat("ab", 200_000),
		"CR lines": strings.Repeat("ab\r", 100_000),
		"mixed":    strings.Repeat("ab\r\nab\n", 50_000),
	} {
		start := time.Now()
		r, err := Apply(parse(t, file), []Edit{{Old: "a", New: "x\ny", All: true}, {Old: "b", New: "z", All: true}})
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.Count(file, "a"); r.Counts[0] != want || r.Counts[1] != want {
			t.Errorf("%s: %v replacements, want %d each", name, r.Counts, want)
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%s: %v for %d replacements", name, d, r.Counts[0])
		}
	}
}

// A file of megabytes of which each byte is replaced would take gigabytes.
func TestAnEditReplacesAMillionAtMost(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Apply(parse(t, strings.Repeat("a", 2<<20)), []Edit{{Old: "a", New: "b", All: true}})
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "occurs 2097152 times") {
		t.Errorf("error %v", err)
	}
	if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > 400 {
		t.Errorf("it takes %d MB", got)
	}
}

package frontmatter_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/knowledge/frontmatter"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name, text string
		field      string
		want       string // the field as text
		body       string
		guessed    []string
		err        string
	}{
		{name: "a text without dashes is all body", text: "# Hi\n---\nx", body: "# Hi\n---\nx"},
		{name: "fields and body are told apart", text: "---\nname: pdf\n---\n\n# Hi\n", field: "name", want: "pdf", body: "# Hi\n"},
		{name: "front matter may be empty", text: "---\n---\nbody", field: "name", body: "body"},
		{name: "a body may be missing", text: "---\nname: x\n---", field: "name", want: "x"},
		{name: "dashes inside the body stay", text: "---\na: b\n---\nx\n---\ny", field: "a", want: "b", body: "x\n---\ny"},
		{name: "a colon in a value is text", text: "---\nname: x\ndescription: Use when: it rains\n---\n", field: "description", want: "Use when: it rains", guessed: []string{"description"}},
		{name: "two lists in a value are text", text: "---\nargument-hint: [issue] [branch]\n---\n", field: "argument-hint", want: "[issue] [branch]", guessed: []string{"argument-hint"}},
		{name: "signs that YAML reserves are text", text: "---\ndescription: @todo `x` *all*\n---\n", field: "description", want: "@todo `x` *all*", guessed: []string{"description"}},
		{name: "a guess goes over the lines that belong to it", text: "---\ndescription: Use when: a\n  and b\nname: n\n---\n", field: "description", want: "Use when: a and b", guessed: []string{"description"}},
		{name: "one bad field leaves the others", text: "---\ndescription: a: b\ntools:\n  - Read\n  - Bash(git:*)\n---\n", field: "description", want: "a: b", guessed: []string{"description"}},
		{name: "folded and literal text", text: "---\ndescription: >\n  one\n  two\n---\n", field: "description", want: "one two"},
		{name: "a name in another spelling is the same", text: "---\nallowedTools: Read\n---\n", field: "allowed-tools", want: "Read"},
		{name: "numbers and flags are text too", text: "---\nmax-turns: 5\n---\n", field: "maxTurns", want: "5"},
		{name: "the last of two counts", text: "---\nname: a\nname: b\n---\n", field: "name", want: "b"},
		{name: "an end that is missing is an error", text: "---\nname: x\n", body: "---\nname: x\n", err: "has no end"},
		{name: "text in the place of fields is an error", text: "---\njust words\n---\nbody", body: "body", err: "no line of the form"},
		{name: "an alias is no alias", text: "---\na: &x [1]\nb: *x\n---\n", field: "b", want: "*x", guessed: []string{"b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doc, err := frontmatter.Parse(tt.text)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if got := doc.Fields.Text(tt.field); got != tt.want {
				t.Errorf("%s is %q, want %q", tt.field, got, tt.want)
			}
			if doc.Body != tt.body {
				t.Errorf("body %q, want %q", doc.Body, tt.body)
			}
			if diff := cmp.Diff(tt.guessed, doc.Guessed); diff != "" {
				t.Errorf("guessed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestListsAreReadInEveryForm(t *testing.T) {
	want := []string{"Read", "Bash(git add *)", "mcp__a__b"}
	for _, text := range []string{
		"tools: Read, Bash(git add *), mcp__a__b",
		"tools: Read Bash(git add *) mcp__a__b",
		"tools: [Read, 'Bash(git add *)', mcp__a__b]",
		"tools:\n  - Read\n  - Bash(git add *)\n  - mcp__a__b",
		"tools: |\n  Read\n  Bash(git add *)\n  mcp__a__b",
	} {
		doc, err := frontmatter.Parse("---\n" + text + "\n---\n")
		if diff := cmp.Diff(want, doc.Fields.List("tools")); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
}

func TestFlagsAndNumbers(t *testing.T) {
	doc, err := frontmatter.Parse("---\non: true\noff: \"no\"\nodd: maybe\nturns: 7\nnone:\n---\n")
	if err != nil {
		t.Fatal(err)
	}
	f := doc.Fields
	got := []any{f.Flag("on", false), f.Flag("off", true), f.Flag("odd", true), f.Flag("gone", true), f.Number("turns"), f.Number("odd"), f.Has("none"), f.Has("on")}
	if diff := cmp.Diff([]any{true, false, true, true, 7, 0, false, true}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHostileFrontMatterIsRefusedAtOnce(t *testing.T) {
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for _, c := range "bcdefghijk" {
		laughs += strings.ReplaceAll(string(c)+": &"+string(c)+" [*P,*P,*P,*P,*P,*P,*P,*P,*P]\n", "P", string(c-1))
	}
	for name, text := range map[string]string{
		"aliases that double":  laughs,
		"brackets without end": "a: " + strings.Repeat("[", 16000),
		"a megabyte":           "a: " + strings.Repeat("x", 1<<20),
		"deep indentation":     deep(180),
		"ten thousand lines":   strings.Repeat("a\n", 8000),
	} {
		began := time.Now()
		doc, err := frontmatter.Parse("---\n" + text + "\n---\nbody")
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s: took %s", name, took)
		}
		if doc.Body != "body" {
			t.Errorf("%s: body %q, error %v", name, doc.Body, err)
		}
	}
}

func deep(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func FuzzParse(f *testing.F) {
	f.Add("---\nname: x\ndescription: Use when: y\ntools: [a, b]\n---\nbody")
	f.Add("---\na: &x {b: *x}\n? c\n: d\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		doc, _ := frontmatter.Parse(text)
		if !strings.HasSuffix(text, doc.Body) {
			t.Errorf("the body %q is not the end of the text", doc.Body)
		}
		doc.Fields.Text("name")
		for _, e := range doc.Fields.List("tools") {
			if e == "" || utf8.ValidString(text) && !utf8.ValidString(e) {
				t.Errorf("list entry %q", e)
			}
		}
	})
}

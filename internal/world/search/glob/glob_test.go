package glob

import (
	"errors"
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"*.go", "a.go", true}, {"*.go", "d/a.go", false}, {"**/*.go", "a.go", true}, {"**/*.go", "x/y/a.go", true},
		{"a/**", "a/b/c", true}, {"a/**", "a", false}, {"a/**/b", "a/b", true}, {"a/**/b", "a/x/y/b", true}, {"a/**/b", "a/x/c", false},
		{"**", "a/b", true}, {"**/a/**", "x/a/y", true}, {"**/**/x", "x", true}, {"a/*/c", "a/b/c", true}, {"a/*/c", "a/b/b/c", false},
		{"a?c", "abc", true}, {"a?c", "aéc", true}, {"a?c", "a/c", false}, {"[a-c]x", "bx", true}, {"[!a-c]x", "bx", false}, {"[^a]x", "bx", true},
		{"[]]x", "]x", true}, {"[[:digit:]]", "7", true}, {`\*`, "*", true}, {`\*`, "a", false}, {"a*b*c", "aXbYc", true}, {"a*b*c", "aXbY", false},
		{"*.{ts,tsx}", "a.tsx", true}, {"{a,b}/{c,d}", "b/c", true}, {"{a,{b,c}}x", "cx", true}, {"a{,b}", "a", true}, {"{x}", "x", true},
		{"[{]a", "{a", true}, {`\{a`, "{a", true}, {"foo**bar", "fooXbar", true}, {"", "", true}, {"[", "[", true},
	} {
		g, err := Compile(c.pattern, &Options{Braces: true})
		if err != nil {
			t.Errorf("%q: %v", c.pattern, err)
			continue
		}
		if got := g.Match(c.path); got != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.path, got)
		}
	}
}

func TestFold(t *testing.T) {
	g, err := Compile("[A-C]*.GO", &Options{Fold: true})
	if err != nil || !g.Match("bx.go") || g.Match("dx.go") {
		t.Errorf("folding: %v", err)
	}
}

func TestBraceErrors(t *testing.T) {
	for _, p := range []string{"{a", "a}", "{{a}", strings.Repeat("{a,b}", 20)} {
		if _, err := Compile(p, &Options{Braces: true}); !errors.Is(err, errBraces) {
			t.Errorf("%q: %v", p, err)
		}
		if _, err := Compile(p, nil); err != nil {
			t.Errorf("%q without braces: %v", p, err)
		}
	}
}

func TestPrefix(t *testing.T) {
	for p, want := range map[string]string{"a/b/*.go": "a/b", "*.go": "", "a/**/b": "a", "{a,b}/c": "", "a/b": "a"} {
		g, err := Compile(p, &Options{Braces: true})
		if err != nil || g.Prefix() != want {
			t.Errorf("Prefix of %q is %q, want %q (%v)", p, g.Prefix(), want, err)
		}
	}
}

// FuzzMatch looks for panics and checks that the fast shapes agree with the general
// one.
func FuzzMatch(f *testing.F) {
	f.Add("*.go", "a.go")
	f.Add("a*b[!x]?", "aXbyz")
	f.Add(`**/[a-\]*`, "x/]")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		g, err := Compile(pattern, &Options{Braces: true})
		if err != nil || len(g.alternatives) > 20 || len(path) > 200 {
			return
		}
		g.Match(path)
		for _, segs := range g.alternatives {
			for _, s := range segs {
				name, _, _ := strings.Cut(path, "/")
				general := segment{kind: general, text: patternOf(s)}
				if s.kind != anyDirs && s.kind != general.kind && s.match(name) != general.match(name) {
					t.Errorf("%q on %q: %v, backtracking says otherwise", pattern, name, s.match(name))
				}
			}
		}
	})
}

func patternOf(s segment) string {
	switch s.kind {
	case suffix:
		return "*" + s.text
	case prefix:
		return s.text + "*"
	case contains:
		return "*" + s.text + "*"
	}
	return s.text
}

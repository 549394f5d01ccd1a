package shorten_test

import (
	"testing"

	"github.com/haftdev/haft/internal/text/shorten"
)

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"äöü", 3, "äöü"}, {"äöüß", 3, "äö…"}, {"世界和平", 2, "世…"},
		{"\xff\xfe\xfd", 2, "\xff…"}, {"ab", 1, "…"},
	} {
		if got := shorten.To(c.text, c.n); got != c.want {
			t.Errorf("To(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
	if got := shorten.Line(" a\n b\tcd ", 5); got != "a b …" {
		t.Errorf("Line = %q", got)
	}
}

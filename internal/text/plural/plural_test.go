package plural_test

import (
	"testing"

	"github.com/haftdev/haft/internal/text/plural"
)

func TestNouns(t *testing.T) {
	for _, c := range []struct {
		n          int
		noun, want string
	}{
		{0, "call", "0 calls"}, {1, "call", "1 call"}, {2, "call", "2 calls"},
		{1, "match", "1 match"}, {3, "match", "3 matches"}, {2, "more line", "2 more lines"},
		{2, "entry", "2 entries"}, {2, "day", "2 days"}, {2, "index", "2 indexes"}, {2, "process", "2 processes"},
	} {
		if got := plural.Of(c.n, c.noun); got != c.want {
			t.Errorf("%d %s: %q, want %q", c.n, c.noun, got, c.want)
		}
	}
	if got := plural.Forms(int64(2), "file is", "files are"); got != "2 files are" {
		t.Error(got)
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1k", 21_040: "21k", 21_060: "21.1k", 1_000_000: "1M", 1_250_000: "1.2M"} {
		if got := plural.Thousands(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

package headless

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLikeliestFilesComeFirst(t *testing.T) {
	names := []string{"src/", "src/alphabet.go", "alpha.txt", "docs/great-alps.md", "README.md", "a/l/p"}
	for query, want := range map[string][]string{
		"alp":    {"alpha.txt", "src/alphabet.go", "docs/great-alps.md", "a/l/p"},
		"src/":   {"src/", "src/alphabet.go"},
		"readme": {"README.md"},
		"zzz":    nil,
		"":       {"src/", "a/l/p", "README.md", "alpha.txt", "src/alphabet.go", "docs/great-alps.md"},
	} {
		if diff := cmp.Diff(want, likeliest(names, query)); diff != "" {
			t.Errorf("%q: %s", query, diff)
		}
	}
}

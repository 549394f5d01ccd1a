package near_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/text/near"
)

func TestFitting(t *testing.T) {
	names := []string{"src/", "src/alphabet.go", "alpha.txt", "docs/great-alps.md", "README.md", "a/l/p"}
	for typed, want := range map[string][]string{
		"alp":    {"alpha.txt", "src/alphabet.go", "docs/great-alps.md", "a/l/p"},
		"src/":   {"src/", "src/alphabet.go"},
		"readme": {"README.md"},
		"zzz":    nil,
		"":       {"src/", "a/l/p", "README.md", "alpha.txt", "src/alphabet.go"},
	} {
		if diff := cmp.Diff(want, near.Fitting(names, typed, 5)); diff != "" {
			t.Errorf("%q: %s", typed, diff)
		}
	}
}

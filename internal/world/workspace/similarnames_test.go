//go:build linux

package workspace

import (
	"strings"
	"testing"
)

func TestAMissingFileIsAnsweredWithSimilarOnes(t *testing.T) {
	b := newBench(t, map[string]string{"main.go": "", "main.js": "", "main.py": "", "main.rs": "", "docs/guide.md": ""})
	for path, want := range map[string][]string{
		b.path("main.txt"):         {"main.go", "main.js", "main.py"}, // three at most
		b.path("mian.go"):          {"main.go"},
		"/elsewhere/docs/guide.md": {"docs/guide.md"}, // a folder in front was made up
	} {
		for i := range want {
			want[i] = b.path(want[i])
		}
		_, err := b.Load(b.Look(path))
		wantCode(t, err, Missing)
		_, got, _ := strings.Cut(err.Error(), "Did you mean ")
		if got != strings.Join(want, " or ")+"?" {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}

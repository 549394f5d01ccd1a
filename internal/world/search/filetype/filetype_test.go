package filetype

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/internal/world/search/rgtest"
)

func TestTableIsRipgreps(t *testing.T) {
	out, err := exec.Command(rgtest.Need(t), "--no-config", "--type-list").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{}
	for l := range strings.Lines(string(out)) {
		name, globs, _ := strings.Cut(strings.TrimSuffix(l, "\n"), ": ")
		want[name] = strings.Split(globs, ", ")
	}
	if d := cmp.Diff(want, table()); d != "" {
		t.Errorf("the table differs from ripgrep's (-rg +ours):\n%s", d)
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		types string
		name  string
		want  bool
	}{
		{"go", "a.go", true}, {"go", "a.gox", false}, {"go", "go", false},
		{"make", "Makefile", true}, {"make", "x.mk", true}, {"make", "GNUmakefile", true},
		{"ts", "a.tsx", true}, {"py,rust", "a.rs", true}, {"py,rust", "a.go", false}, {"readme", "README.md", true}, {"license", "LICENSE", true},
	} {
		m, err := New(strings.Split(c.types, ",")...)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Match(c.name); got != c.want {
			t.Errorf("%s is of type %s: %v", c.name, c.types, got)
		}
	}
}

func TestUnknown(t *testing.T) {
	_, err := New("tsx")
	var u *UnknownError
	if !errors.As(err, &u) || !cmp.Equal(u.Near, []string{"ts", "typescript"}) {
		t.Errorf("got %v", err)
	}
}

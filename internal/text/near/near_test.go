package near_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/text/near"
)

func TestNames(t *testing.T) {
	tools := []string{"Bash", "BashOutput", "Edit", "Glob", "Grep", "MultiEdit", "Read", "mcp__github__list_issues"}
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"case does not count", "bash", []string{"Bash", "BashOutput"}},
		{"a swap of neighbours is one change", "Raed", []string{"Read"}},
		{"underscores do not count", "multi_edit", []string{"MultiEdit", "Edit"}},
		{"a part of a long name is near", "list_issues", []string{"mcp__github__list_issues"}},
		{"nothing is near to something else", "Teleport", []string{}},
		{"nothing is near to nothing", "", []string{}},
		{"nobody mistypes a name this long", strings.Repeat("Bash", 20), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, near.Names(c.in, tools, 2)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestHint(t *testing.T) {
	if got := near.Hint("bash", []string{"Bash", "BashOutput", "Read"}); got != " Did you mean Bash or BashOutput?" {
		t.Errorf("got %q", got)
	}
	if got := near.Hint("x", []string{"Read"}); got != "" {
		t.Errorf("got %q", got)
	}
}

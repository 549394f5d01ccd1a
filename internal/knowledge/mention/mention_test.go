package mention_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/knowledge/mention"
)

func TestPaths(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"a path in a sentence ends before its full stop", "See @docs/style.md.", []string{"docs/style.md"}},
		{"a list, parentheses and quotes", "- @a.md\n- (@b/c.md)\n- \"@d.md\"", []string{"a.md", "b/c.md", "d.md"}},
		{"home, absolute and parent paths", "@~/x.md @/etc/y @../z", []string{"~/x.md", "/etc/y", "../z"}},
		{"a blank may be escaped", `@my\ notes.md and more`, []string{"my notes.md"}},
		{"each path counts once", "@a.md @a.md", []string{"a.md"}},
		{"an address is no mention", "write to me@example.com", nil},
		{"code inside a line is no mention", "use `@a.md` or ``x `@b.md` ``", nil},
		{"a fenced block holds no mentions", "```sh\n@a.md\n```\n@b.md", []string{"b.md"}},
		{"a longer fence is closed by its own kind", "````\n```\n@a.md\n````\n@b.md", []string{"b.md"}},
		{"tildes fence too", "~~~\n@a.md\n~~~\n@b.md", []string{"b.md"}},
		{"a fence that is never closed goes on to the end", "```\n@a.md", nil},
		{"an @ alone is nothing", "@ @. @", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, mention.Paths(tt.text)); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzPaths(f *testing.F) {
	f.Add("See @docs/style.md.\n```\n@x\n```")
	f.Fuzz(func(t *testing.T, text string) {
		for _, path := range mention.Paths(text) {
			if path == "" || strings.ContainsAny(path, "\n\t") {
				t.Errorf("path %q", path)
			}
		}
	})
}

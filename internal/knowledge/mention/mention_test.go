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
		{"a Chinese text has no blanks", "看一下@main.go", []string{"main.go"}},
		{"its punctuation ends a path", "看一下 @main.go，谢谢。@b.go。", []string{"main.go", "b.go"}},
		{"its brackets hold one", "（@main.go）和「@目录/文件.txt」", []string{"main.go", "目录/文件.txt"}},
		{"Japanese and Korean ones", "これは@a.goです と 봐줘@b.go", []string{"a.goです", "b.go"}},
		{"addresses stay none", "écris à joé@example.com, a.b@c.de, x-@y", nil},
		{"lines belong to it", "see @a.go#L10-20.", []string{"a.go#L10-20"}},
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

func TestLines(t *testing.T) {
	for in, want := range map[string]struct {
		file     string
		from, to int
	}{
		"a.go#L10-20": {"a.go", 10, 20}, "a.go#L10-L20": {"a.go", 10, 20}, "a.go#L7": {"a.go", 7, 7}, "a.go": {"a.go", 0, 0},
		"a#b.md": {"a#b.md", 0, 0}, "a.go#L20-10": {"a.go#L20-10", 0, 0}, "a.go#L0": {"a.go#L0", 0, 0}, "#L3": {"#L3", 0, 0},
	} {
		if file, from, to := mention.Lines(in); file != want.file || from != want.from || to != want.to {
			t.Errorf("%s: %s, %d, %d", in, file, from, to)
		}
	}
}

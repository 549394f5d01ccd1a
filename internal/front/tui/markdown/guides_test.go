package markdown_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/docs"
	"github.com/haftdev/haft/internal/front/tui/style"
)

// TestGuidesKeepTheirCode renders every guide as 'haft help' does and finds each line of its code again, byte for
// byte: people paste them.
func TestGuidesKeepTheirCode(t *testing.T) {
	guides := docs.Topics()
	for _, g := range docs.Groups("zh") {
		guides = append(guides, g.Topics...)
	}
	for _, guide := range guides {
		for _, width := range []int{80, 120} {
			var shown []string
			for _, l := range render(guide.Text, width, style.Palette{}) {
				shown = append(shown, strings.TrimLeft(l, " "))
			}
			for _, line := range codeLines(guide.Text) {
				if !slices.Contains(shown, line) {
					t.Errorf("%s at %d columns: %q is not shown", guide.Name, width, line)
				}
			}
		}
	}
}

var listItem = regexp.MustCompile(`^ *([-*+]|[0-9]+[.)]) `)

// codeLines are the lines of code of a text, without their indentation: those in fences, and the deep ones after an
// empty line that are not in a list.
func codeLines(text string) (lines []string) {
	fenced, list, before := false, false, "#"
	for line := range strings.Lines(text) {
		line = strings.TrimRight(strings.ReplaceAll(line, "\t", "    "), " \n")
		bare := strings.TrimLeft(line, " ")
		deep := strings.HasPrefix(line, "    ") && (before == "" || before == "code" || before[0] == '#') && !list
		switch {
		case strings.HasPrefix(bare, "```"):
			fenced = !fenced
			before = "```"
			continue
		case fenced && bare != "", !fenced && deep && bare != "":
			lines = append(lines, bare)
			before = "code"
			continue
		case fenced:
			continue
		case listItem.MatchString(line):
			list = true
		case bare != "" && line == bare:
			list = false
		}
		before = bare
	}
	return lines
}

func TestIndentedCode(t *testing.T) {
	for text, want := range map[string][]string{
		"Run:\n\n    # a comment\n    haft -p \\\n      --model m\n\n    - x\n\n\nAfter": {"Run:", "", "  # a comment", "  haft -p \\", "    --model m", "", "  - x", "", "After"},
		"- item\n\n  its text\n\n      its code\n\n  more\n":                             {"• item", "", "  its text", "", "    its code", "", "  more"},
		"- item\n    - deeper\n\n    its text":                                           {"• item", "    • deeper", "", "its text"},
		"a paragraph\n    goes on":                                                       {"a paragraph goes on"},
		"# Title\n    code\n    ```\n    | a | b |\n> quote\n>\n>     quoted  code":      {"Title", "", "  code", "  ```", "  | a | b |", "", "│ quote", "│ ", "│   quoted  code"},
	} {
		if got := render(text, 60, style.Palette{}); !slices.Equal(got, want) {
			t.Errorf("%q is shown as\n%q, not\n%q", text, got, want)
		}
	}
}

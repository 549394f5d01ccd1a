package house

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// A heading that is reworded must not break the links to it, on its own page or on others.
func TestLinksLeadToHeadings(t *testing.T) {
	anchors := map[string]map[string]bool{}
	for _, name := range textFiles(t) {
		if path.Ext(name) == ".md" && !strings.Contains(name, "testdata/") {
			anchors[name] = headings(readFile(t, name))
		}
	}
	var findings []string
	for name := range anchors {
		findings = append(findings, lostAnchors(name, readFile(t, name), anchors)...)
	}
	report(t, findings, "Link to the heading by its present words, or keep the heading.")
}

var inPage = regexp.MustCompile(`\]\(([\w./-]*)#([^)\s]+)\)`)

// lostAnchors returns the links in a Markdown text that name a heading which a page does not
// have.
func lostAnchors(name, text string, anchors map[string]map[string]bool) (out []string) {
	for _, m := range inPage.FindAllStringSubmatch(text, -1) {
		page := name
		if m[1] != "" {
			page = path.Join(path.Dir(name), m[1])
		}
		if has, ok := anchors[page]; ok && !has[m[2]] {
			out = append(out, fmt.Sprintf("%s: link to %s#%s", name, m[1], m[2]))
		}
	}
	return out
}

// headings are the anchors that a code host gives the headings of a page.
func headings(text string) map[string]bool {
	out, fence := map[string]bool{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence != "":
			if line == fence {
				fence = ""
			}
		case len(ticks) >= 3:
			fence = ticks
		case strings.HasPrefix(line, "#"):
			out[anchor(strings.TrimSpace(strings.TrimLeft(line, "#")))] = true
		}
	}
	return out
}

func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

func TestLostAnchorsAreFound(t *testing.T) {
	anchors := map[string]map[string]bool{"docs/b.md": headings("# The page\n````\n# no\n```\n# neither\n````\n## `haft -p`: run in CI\n")}
	text := "[a](b.md#the-page) [b](b.md#haft--p-run-in-ci) [c](b.md#no) [d](b.md#neither) [e](#here) [f](https://example.org/x#y) [g](c.md#y)"
	anchors["docs/a.md"] = headings("## Here\n")
	want := []string{"docs/a.md: link to b.md#no", "docs/a.md: link to b.md#neither"}
	if diff := cmp.Diff(want, lostAnchors("docs/a.md", text, anchors)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

package house

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestDocsNameWhatExists(t *testing.T) {
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(root, name))
		return err == nil
	}
	var findings []string
	for _, name := range textFiles(t) {
		inDocs := strings.HasPrefix(name, "docs/") && path.Ext(name) == ".md"
		if inDocs || name == "README.md" || name == "CONTRIBUTING.md" {
			findings = append(findings, dangling(name, readFile(t, name), exists)...)
		}
	}
	report(t, findings,
		"Name the file where it is now. A placeholder is written with <angle brackets>; what does not exist yet is not documented yet.")
}

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	codeSpan = regexp.MustCompile("`([^`\\s]+)`")
	// pathLike leaves out placeholders, patterns and anything with a scheme.
	pathLike = regexp.MustCompile(`^[\w.][\w.-]*(/[\w.-]+)*/?$`)
	lineMark = regexp.MustCompile(`:\d+$`)
)

// dangling returns the links and repository paths in a Markdown text that
// lead nowhere. Fenced blocks are left out: they hold commands and output.
func dangling(name, text string, exists func(string) bool) []string {
	var out []string
	fenced, number := false, 0
	for line := range strings.Lines(text) {
		number++
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if fenced {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if pathLike.MatchString(target) && !exists(path.Join(path.Dir(name), target)) {
				out = append(out, fmt.Sprintf("%s:%d: link to %s", name, number, m[1]))
			}
		}
		for _, m := range codeSpan.FindAllStringSubmatch(line, -1) {
			target := lineMark.ReplaceAllString(m[1], "")
			if ours(target, exists) && !exists(target) && !exists(path.Join(path.Dir(name), target)) {
				out = append(out, fmt.Sprintf("%s:%d: `%s`", name, number, m[1]))
			}
		}
	}
	return out
}

// ours reports whether a code span looks like a path in this repository: it
// starts in one of our folders, or it is the path of a Go or Markdown file.
func ours(target string, exists func(string) bool) bool {
	target = strings.TrimPrefix(target, "./")
	first, rest, _ := strings.Cut(target, "/")
	if rest == "" || first == ".git" || !pathLike.MatchString(target) { // in a worktree .git is a file
		return false
	}
	ext := path.Ext(target)
	return exists(first) || (ext == ".go" || ext == ".md") && !strings.HasPrefix(first, ".")
}

// TestDocsNameHeadingsThatExist follows each link to a heading of a Markdown file.
func TestDocsNameHeadingsThatExist(t *testing.T) {
	pages := map[string]string{}
	for _, name := range textFiles(t) {
		if path.Ext(name) == ".md" && !strings.Contains(name, "testdata/") {
			pages[name] = readFile(t, name)
		}
	}
	report(t, danglingHeadings(pages), "Name the heading as it is now, in small letters, with a hyphen for each blank and without punctuation.")
}

// danglingHeadings returns the links to headings that do not exist, of Markdown texts by file name.
func danglingHeadings(pages map[string]string) []string {
	headings := map[string]map[string]bool{}
	for name, text := range pages {
		headings[name] = anchors(text)
	}
	var out []string
	for name, text := range pages {
		for _, m := range link.FindAllStringSubmatch(unfenced(text), -1) {
			file, heading, ok := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			if known := headings[target]; ok && known != nil && !known[heading] {
				out = append(out, fmt.Sprintf("%s: link to %s", name, m[1]))
			}
		}
	}
	slices.Sort(out)
	return out
}

var (
	headingLine = regexp.MustCompile(`(?m)^#+ +(.+?)\s*$`)
	punctuation = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchors returns the names that a code host gives to the headings of a text.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range headingLine.FindAllStringSubmatch(unfenced(text), -1) {
		name := strings.ReplaceAll(punctuation.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
		for n, base := 1, name; out[name]; n++ {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		out[name] = true
	}
	return out
}

// unfenced returns a text without its fenced blocks, which may contain shorter fences.
func unfenced(text string) string {
	var out strings.Builder
	open := ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		fence := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
		switch {
		case open == "" && len(fence) >= 3:
			open = fence
		case open == "":
			out.WriteString(line)
		case len(fence) >= len(open) && fence == trimmed:
			open = ""
		}
	}
	return out.String()
}

// Package mention finds the files that a Markdown text mentions as @path.
//
// What stands in code is no mention: a text that explains the syntax must not
// trigger it, and a package named @scope/name in a code block is no file. All
// functions are pure and safe for concurrent use.
package mention

import (
	"strconv"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// pattern is a mention: an @ that is no part of a word of letters like these, as it is in
// an address, and what follows up to a blank that no backslash precedes or to punctuation
// of Chinese, Japanese and Korean texts, which have no blanks.
var pattern = lazyregexp.New(`(?:^|[^\p{Latin}\p{N}._%+/@\\` + "`" + `-])@((?:\\ |[^\s` + "`" + `，。；：！？、（）【】《》「」『』〈〉“”‘’…])+)`)

// codeSpan is code inside a line, by one or two backticks.
var codeSpan = lazyregexp.New("``[^`].*?``|`[^`]*`")

// Paths returns the paths that a text mentions, each once, in order.
func Paths(text string) []string {
	var paths []string
	seen := map[string]bool{}
	for line := range prose(text) {
		if !strings.Contains(line, "@") {
			continue
		}
		for _, m := range pattern.Get().FindAllStringSubmatch(codeSpan.ReplaceAllString(line, " "), -1) {
			path := clean(m[1])
			if path != "" && !seen[path] {
				seen[path] = true
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// Lines takes the lines off a path such as main.go#L10-20; from is 0 if it names none.
// One line is its own end.
func Lines(path string) (file string, from, to int) {
	m := lines.FindStringSubmatch(path)
	if m == nil {
		return path, 0, 0
	}
	from, _ = strconv.Atoi(m[2]) // at most nine digits
	if to = from; m[3] != "" {
		to, _ = strconv.Atoi(m[3])
	}
	if from == 0 || to < from {
		return path, 0, 0
	}
	return m[1], from, to
}

var lines = lazyregexp.New(`^(.+)#L(\d{1,9})(?:-L?(\d{1,9}))?$`)

// clean takes off what belongs to the sentence and not to the path.
func clean(path string) string {
	path = strings.TrimRight(path, ".,;:!?)]}\"'*_")
	return strings.ReplaceAll(path, `\ `, " ")
}

// prose yields the lines of a text that are not in a fenced block.
func prose(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		fence := ""
		for line := range strings.SplitSeq(text, "\n") {
			mark := fenceMark(line)
			switch {
			case fence == "" && mark != "":
				fence = mark
			case fence != "" && strings.HasPrefix(mark, fence) && strings.TrimSpace(line) == mark:
				fence = ""
			case fence == "" && !yield(line):
				return
			}
		}
	}
}

// fenceMark returns the backticks or tildes that open or close a block; "" if
// the line does neither.
func fenceMark(line string) string {
	line = strings.TrimLeft(line, " ")
	for _, c := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, c)
		if n := len(line) - len(rest); n >= 3 {
			if c == "`" && strings.Contains(rest, "`") {
				return "" // code inside a line
			}
			return line[:n]
		}
	}
	return ""
}

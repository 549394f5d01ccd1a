package edits

import (
	"strconv"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

var lineNumber = lazyregexp.New(`^ *\d+(?:\t|→)`)

// withoutLineNumbers strips the numbers when every line has one.
func withoutLineNumbers(old string) (string, bool) {
	lines := strings.Split(old, "\n")
	for i, l := range lines {
		n := len(lineNumber.FindString(l))
		if n == 0 && !(l == "" && i == len(lines)-1 && i > 0) {
			return "", false
		}
		lines[i] = l[n:]
	}
	cleaned := strings.Join(lines, "\n")
	return cleaned, cleaned != ""
}

// countedUp reports whether there are several lines and each has the number after that of the line before.
func countedUp(s string) bool {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	next := 0
	for i, l := range lines {
		n, err := strconv.Atoi(strings.Trim(lineNumber.FindString(l), " \t→"))
		if err != nil || i > 0 && n != next {
			return false
		}
		next = n + 1
	}
	return len(lines) > 1
}

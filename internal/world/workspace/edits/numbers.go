package edits

import (
	"strconv"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

var lineNumber = lazyregexp.New(`^ *\d+(?:\t|→)`)

// A numbering is a form in which tools print the numbers of lines.
type numbering struct {
	before *lazyregexp.Regexp
	tools  string
	// common is set where ordinary text may look like that.
	common bool
}

var numberings = []numbering{
	{lineNumber, "Read prints", false},
	{lazyregexp.New(`^ *\d+ {2}`), "Read prints", true},
	{lazyregexp.New(`^\d+[:-]`), "Grep prints", true},
	{lazyregexp.New(`^[^\s:]+[:-]\d+[:-]`), "Grep prints", true},
}

// withoutLineNumbers strips the numbers of Read.
func withoutLineNumbers(old string) (string, bool) { return numberings[0].strip(old) }

// strip removes the numbers when every line has one.
func (form numbering) strip(old string) (string, bool) {
	lines := strings.Split(old, "\n")
	for i, l := range lines {
		n := len(form.before.FindString(l))
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

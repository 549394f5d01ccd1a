package filetool

import (
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/workspace/patch"
)

// Change is how a changed file is told to the model: what was done, the diff, what somebody else had changed, and notes.
type Change struct {
	Say     string // the first line
	Path    string
	Hunks   []patch.Hunk
	Stale   bool
	Foreign []patch.Hunk
	Notes   []string
	Whole   bool // it was a whole new content
}

// Text renders the change.
func (c Change) Text() string {
	var b strings.Builder
	b.WriteString(c.Say)
	for _, n := range c.Notes {
		b.WriteString("\nNote: " + n)
	}
	switch {
	case c.Stale && len(c.Foreign) == 0 && c.Whole:
		b.WriteString("\nNote: somebody else changed the file since it was read. What was read is no longer at hand, so nothing could be merged; all that stood there was replaced, as on_conflict asked. What that took away is below.")
	case c.Stale && len(c.Foreign) == 0:
		b.WriteString("\nNote: somebody else changed the file since it was read. What was read is no longer at hand, so the change cannot be shown; the edit fitted and was made. Read the file before relying on the rest of it.")
	case c.Stale:
		b.WriteString("\nNote: somebody else changed the file since it was read. Their change, and below it what this call changed:\n" + unified("read", "disk", c.Foreign))
	}
	if len(c.Hunks) > 0 {
		b.WriteString("\n" + unified(c.Path, c.Path, c.Hunks))
	}
	return strings.TrimRight(b.String(), "\n")
}

// maxDiff is how many lines of a diff are shown.
const maxDiff = 1000

// unified writes a diff that can be read: neither its lines nor their number are without end.
func unified(from, to string, hunks []patch.Hunk) string {
	text := strings.TrimRight(patch.Unified(from, to, short(hunks)), "\n")
	lines := strings.SplitN(text, "\n", maxDiff+1)
	if len(lines) <= maxDiff {
		return text
	}
	more := 1 + strings.Count(lines[maxDiff], "\n")
	return strings.Join(lines[:maxDiff], "\n") + fmt.Sprintf("\n… [%d more lines of the diff]", more)
}

package filetool

import (
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/patch"
)

// Change is how a changed file is told to the model: what was done, where, what else had changed, and notes. The model
// knows what it sent, and pays for each byte on every later request, so that it gets the first places of the change; people
// see all of them.
type Change struct {
	Say     string // the first line
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
		b.WriteString("\nNote: the file changed after it was read. What was read is no longer available, so nothing could be merged; its whole content was replaced, as on_conflict asked. What that removed is below.")
	case c.Stale && len(c.Foreign) == 0:
		b.WriteString("\nNote: the file changed after it was read. What was read is no longer available, so the change cannot be shown; the edit still applied. Read the file before relying on the rest of it.")
	case c.Stale:
		b.WriteString("\nNote: the file changed after it was read, by a command, a formatter or the user. That change, followed by this call's change:\n" + diff(c.Foreign, maxForeign, maxForeign) + "\n--")
	}
	if len(c.Hunks) > 0 {
		b.WriteString("\n" + diff(c.Hunks, workspace.ShownHunks, maxOwn))
	}
	return strings.TrimRight(b.String(), "\n")
}

// How many lines of a diff are shown: of what the model sent itself, and of what it does not know.
const (
	maxOwn     = 60
	maxForeign = 1000
)

// diff writes hunks that can be read: neither their lines nor their number are without end.
func diff(hunks []patch.Hunk, most, maxLines int) string {
	shown := hunks[:min(most, len(hunks))]
	lines := strings.Split(strings.TrimRight(patch.Hunks(short(shown)), "\n"), "\n")
	if n := len(lines) - maxLines; n > 0 {
		lines = append(lines[:maxLines], fmt.Sprintf("… [%s]", plural.Of(n, "more line")))
	}
	if n := len(hunks) - len(shown); n > 0 {
		lines = append(lines, fmt.Sprintf("… [%s]", plural.Of(n, "more place")))
	}
	return strings.Join(lines, "\n")
}

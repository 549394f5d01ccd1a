package plain

import (
	"strings"

	"github.com/haftdev/haft/internal/text/visible"
)

// visibleText is text of several lines that cannot move the cursor or hide.
func visibleText(s string) string {
	return visible.Prose(strings.ReplaceAll(s, "\t", "    "))
}

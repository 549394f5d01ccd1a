package answers

import (
	"strings"
	"time"

	"github.com/haftdev/haft/internal/text/visible"
)

// patience is how long a command that someone typed may take.
const patience = 30 * time.Second

// oneLine is what a row has room for, with nothing in it that a terminal obeys.
func oneLine(s string) string {
	s = visible.Indented(strings.Join(strings.Fields(s), " "))
	const most = 100
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

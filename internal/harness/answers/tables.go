package answers

import (
	"strings"
	"time"

	"github.com/haftdev/haft/internal/text/shorten"
	"github.com/haftdev/haft/internal/text/visible"
)

// patience is how long a command that someone typed may take.
const patience = 30 * time.Second

// oneLine is what a row has room for, with nothing in it that a terminal obeys.
func oneLine(s string) string {
	return shorten.To(visible.Indented(strings.Join(strings.Fields(s), " ")), 100)
}

package cli

import (
	"fmt"
	"io"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/text/visible"
)

// remarks are messages for the user on standard error, in addition to an answer.
type remarks struct{ out io.Writer }

// notice writes a line in one piece, because several may come at the same time.
func (r remarks) notice(n agent.Notice) {
	switch n.Level {
	case "warning":
		fmt.Fprintf(r.out, "warning: %s\n", visible.Indented(n.Text))
	case "notice":
		fmt.Fprintf(r.out, "note: %s\n", visible.Indented(n.Text))
	}
}

// all writes several.
func (r remarks) all(list []agent.Notice) {
	for _, n := range list {
		r.notice(n)
	}
}

package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/ask"
)

// remarks are what a person should know beside an answer, on standard error.
type remarks struct{ out io.Writer }

// show writes down an event if it is one to know of.
func (r remarks) show(ev agent.Event) error {
	switch ev := ev.(type) {
	case agent.Notice:
		r.notice(ev)
	case agent.Retrying:
		r.notice(agent.Notice{Level: "warning", Text: fmt.Sprintf("the model's server did not answer: %s. Trying again in %s (%d of %d)",
			ev.Err, ev.Delay.Round(100*time.Millisecond), ev.Attempt, ev.Max)})
	case agent.FellBack:
		r.notice(agent.Notice{Level: "warning", Text: fmt.Sprintf("going on with %s in place of %s", ev.To, ev.From)})
	}
	return nil // who cannot be told is not stopped for it
}

// notice writes a line in one piece, as several may come at a time.
func (r remarks) notice(n agent.Notice) {
	switch n.Level {
	case "warning":
		fmt.Fprintf(r.out, "warning: %s\n", ask.Visible(n.Text))
	case "notice":
		fmt.Fprintf(r.out, "note: %s\n", ask.Visible(n.Text))
	}
}

// all writes several.
func (r remarks) all(list []agent.Notice) {
	for _, n := range list {
		r.notice(n)
	}
}

package cli

import (
	"fmt"
	"io"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/text/shorten"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// denials counts the calls that were denied because no one could be asked, or because no
// answer came.
type denials struct {
	out   io.Writer               // nil: they are only counted
	watch func(agent.Event) error // also sees every event; nil if there is none
	n     int
}

func (d *denials) show(ev agent.Event) error {
	if r, ok := ev.(agent.Returned); ok && (r.Outcome.Status == sched.Denied && r.Outcome.Verdict.Unasked || len(r.Outcome.Verdict.Dropped) > 0) {
		d.n++
		if d.out != nil {
			fmt.Fprintf(d.out, "haft: %s\n", visible.Indented(deniedLine(r.Outcome)))
		}
	}
	if d.watch == nil {
		return nil
	}
	return d.watch(ev)
}

// droppedPaths names the files of a change that was dropped.
func droppedPaths(list []tool.Dropped) string {
	if len(list) == 1 {
		return list[0].Path
	}
	return fmt.Sprintf("%s and %d more", list[0].Path, len(list)-1)
}

// deniedLine says what was denied, why, and what would allow it.
func deniedLine(out *sched.Outcome) string {
	what := shorten.To(string(out.Input), 201)
	line := fmt.Sprintf("denied %s %s: %s.%s", out.Tool, what, out.Verdict.Reason, out.Verdict.Remedy())
	if dropped := out.Verdict.Dropped; len(dropped) > 0 {
		line = fmt.Sprintf("%s %s ran in a preview, and its change to %s was dropped: %s.%s", out.Tool, what, droppedPaths(dropped), dropped[0].Why, out.Verdict.Remedy())
	}
	switch len(out.Verdict.Suggestions) {
	case 0:
	case 1:
		line += " Add it for one run with --allowedTools, or permanently with: haft permissions add allow RULE"
	default:
		line += " Add them for one run with --allowedTools, or permanently with: haft permissions add allow RULE"
	}
	return line
}

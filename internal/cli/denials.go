package cli

import (
	"fmt"
	"io"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/sched"
)

// denials counts the calls that were denied because nobody could be asked, or who
// was asked did not answer.
type denials struct {
	out   io.Writer               // nil: they are only counted
	watch func(agent.Event) error // that sees every event, too; nil if there is none
	n     int
}

// deniedLine says what was denied, why, and what would allow it.
func deniedLine(out *sched.Outcome) string {
	const long = 200
	what := string(out.Input)
	if len([]rune(what)) > long {
		what = string([]rune(what)[:long]) + "…"
	}
	line := fmt.Sprintf("denied %s %s: %s.%s", out.Tool, what, out.Verdict.Reason, out.Verdict.Remedy())
	if len(out.Verdict.Suggestions) > 0 {
		line += " Give it with --allowedTools, or keep it with: haft permissions add allow RULE"
	}
	return line
}

package bash

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/tool"
)

// Render says how an outcome reads to the model: first how it ended, if that
// was no success, then the output, then the notes.
func (o Output) Render() tool.Result {
	var parts []string
	failed := true
	switch {
	case o.SupervisorProblem != "":
		parts = append(parts, "It is not known how the command ended: "+o.SupervisorProblem+
			". Check what it did before you run it again.")
	case o.Interrupted:
		parts = append(parts, "The command was interrupted. It was ended with everything it started.")
	case o.TimedOutAfterMS > 0 && o.BackgroundTaskID == "":
		parts = append(parts, fmt.Sprintf("Exit code %d\nCommand timed out after %v. It was ended with everything it started.",
			o.ExitCode, time.Duration(o.TimedOutAfterMS)*time.Millisecond))
	case o.ExitCode != 0 && o.CodeMeaning == "":
		parts = append(parts, fmt.Sprintf("Exit code %d", o.ExitCode))
	default:
		failed = false
	}
	if o.Stdout != "" {
		parts = append(parts, o.Stdout)
	}
	if o.CodeMeaning != "" {
		parts = append(parts, fmt.Sprintf("(%s: exit code %d)", o.CodeMeaning, o.ExitCode))
	}
	if len(parts) == 0 && o.BackgroundTaskID == "" {
		parts = append(parts, "(Bash completed with no output)")
	}
	parts = append(parts, o.Notes...)
	r := tool.Text(strings.Join(parts, "\n"))
	r.Failed = failed
	return r
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// names lists each name once.
func names(all []string) string {
	all = slices.Compact(slices.Sorted(slices.Values(all)))
	const most = 5
	if len(all) > most {
		all = append(all[:most:most], "…")
	}
	return strings.Join(all, ", ")
}

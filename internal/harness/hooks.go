package harness

import (
	"fmt"
	"slices"
	"time"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/audit"
	"github.com/haftdev/haft/tool"
)

// hookFault says what was wrong with a hook, and what that led to.
func hookFault(r hook.Run) string {
	then := "it decides nothing"
	if r.Behavior == tool.Deny {
		then = `it blocks the action (set "on_error": "continue" to continue without it)`
	} else if slices.Contains(settings.Guards, string(r.Event)) {
		then = `work continues without it (set "on_error": "block" to block instead)`
	}
	return fmt.Sprintf("%s: the %s hook %s failed, so %s: %s", r.Origin, r.Event, r.ShortName(), then, r.Err)
}

// countFailure writes a failed hook down, for haft doctor.
func (w *World) countFailure(r hook.Run) {
	log, err := w.verdicts()
	if err != nil {
		return
	}
	_ = log.Append(audit.Entry{ // the user is told all the same
		Time: time.Now().UTC(), Tool: r.Tool, Agent: r.Agent, Behavior: audit.HookFailed, Reason: r.Err.Error(), Rule: r.ShortName(), Origin: r.Origin, Cwd: w.Project.Dir,
	})
}

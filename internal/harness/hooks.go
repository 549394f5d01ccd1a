package harness

import (
	"fmt"
	"strings"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/tool"
)

// hookRan tells the user about a hook that did not work and what one has to say.
// A program that brings hooks in code knows about those itself.
func (w *World) hookRan(r hook.Run) {
	if r.Failed() && !r.InCode {
		w.link.Warn("hook_failed", hookFault(r))
	}
	if r.Message != "" && !r.InCode {
		w.link.Emit(agent.Notice{Level: "notice", Tag: "hook", Text: r.Message})
	}
	if told := w.Project.Options.HookRan; told != nil {
		told(r)
	}
}

// hookFault says what was wrong with a hook, and what came of it.
func hookFault(r hook.Run) string {
	const longest = 200
	name := []rune(strings.Join(strings.Fields(r.Hook), " "))
	if len(name) > longest {
		name = append(name[:longest], '…')
	}
	then := "it decides nothing"
	if r.Behavior == tool.Deny {
		then = `it blocks ("on_error": "continue" lets work continue without it)`
	}
	return fmt.Sprintf("%s: the %s hook %s did not work, so %s: %s", r.Origin, r.Event, string(name), then, r.Err)
}

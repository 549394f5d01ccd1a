package harness

import (
	"fmt"
	"strings"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/tool"
)

// hookFault says what was wrong with a hook, and what that led to.
func hookFault(r hook.Run) string {
	const longest = 200
	name := []rune(strings.Join(strings.Fields(r.Hook), " "))
	if len(name) > longest {
		name = append(name[:longest], '…')
	}
	then := "it decides nothing"
	if r.Behavior == tool.Deny {
		then = `it blocks the action (set "on_error": "continue" to continue without it)`
	}
	return fmt.Sprintf("%s: the %s hook %s failed, so %s: %s", r.Origin, r.Event, string(name), then, r.Err)
}

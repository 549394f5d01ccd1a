package sysprompt

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/haftdev/haft/internal/guard/permission"
)

// modeMeans says what each mode does with a call that no rule decides.
var modeMeans = map[permission.Mode]string{
	permission.Default:     "reading is allowed; edits and commands that may change something need approval",
	permission.AcceptEdits: "reading and edits inside the project are allowed; other commands that may change something need approval",
	permission.Plan:        "nothing may be changed",
	permission.Auto:        "a classifier decides about calls that need approval",
	permission.DontAsk:     "what would need approval is denied",
	permission.Bypass:      "nearly everything is allowed",
}

// shownRules is how many rules the model is told; the rest it meets.
const shownRules = 20

// Standing tells the model what it may do: at the beginning, after a compaction, and when
// the mode has changed. Approver says whether there is a user who can approve calls.
func Standing(rules *permission.Engine, approver bool) Reminder {
	var mu sync.Mutex
	var told permission.Mode
	return func(_ context.Context, first bool) []string {
		mu.Lock()
		defer mu.Unlock()
		policy := rules.Policy()
		mode := policy.Mode()
		if !first && mode == told {
			return nil
		}
		changed := !first
		told = mode
		if changed {
			return []string{fmt.Sprintf("The permission mode is now %s: %s.", mode, modeMeans[mode])}
		}
		text := fmt.Sprintf("Permission mode: %s: %s.", mode, modeMeans[mode])
		if !approver && mode != permission.Bypass && mode != permission.Plan {
			text += " No one can approve calls in this session: what needs approval is denied."
		}
		if allowed := policy.Allowed(); len(allowed) > 0 {
			within := ""
			if mode == permission.Plan {
				within = ", as long as nothing is changed"
			}
			text += " Allowed without approval" + within + ": " + strings.Join(allowed[:min(len(allowed), shownRules)], ", ")
			if more := len(allowed) - shownRules; more > 0 {
				text += fmt.Sprintf(" and %d more", more)
			}
			text += "."
		}
		return []string{text}
	}
}

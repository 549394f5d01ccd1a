package crew

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/tools/subagent"
)

// Known is what is kept of an agent.
type Known struct {
	ID          string `json:"id"`
	Kind        string `json:"type"`
	Name        string `json:"name,omitempty"`
	Team        string `json:"team,omitempty"`
	Description string `json:"description"`
	UseID       string `json:"useId"`
	Depth       int    `json:"depth,omitempty"`
	Model       string `json:"model,omitempty"`
	Worktree    bool   `json:"worktree,omitempty"`
	Dir         string `json:"cwd,omitempty"`
	// Text is the skill or command that it does, whose rules and hooks hold for it.
	Text subagent.Text `json:"text,omitzero"`
	// Running is set while it works: one that is found so later was lost.
	Running bool            `json:"running"`
	Status  subagent.Status `json:"status,omitempty"`
	// Tokens and ToolUses are what it used so far.
	Tokens   int64 `json:"tokens,omitempty"`
	ToolUses int   `json:"toolUses,omitempty"`
	// Began is when it was started.
	Began time.Time `json:"began,omitzero"`
}

// State says in a word how the agent is: running, lost, or how its work ended.
func (k Known) State() string {
	if k.Running {
		return "running"
	}
	return string(cmp.Or(k.Status, Lost))
}

// Lost is the status of one whose process ended while it worked.
const Lost subagent.Status = "lost"

// LostText tells a model which agents were at work when a session broke off.
func LostText(known []Known) string {
	var b strings.Builder
	for _, k := range known {
		if k.Running {
			fmt.Fprintf(&b, "- %s (%s): %s\n", k.ID, k.Kind, k.Description)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "These agents were running when the session was interrupted and have stopped. Their last work may be incomplete: check before you repeat it. " +
		"To let an agent continue where it left off, use SendMessage. The agents:\n" + b.String()
}

package bash

import (
	"fmt"
	"slices"

	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
)

// box is what confines a call's command; nil if nothing does.
func (t *Tools) box(c *tool.Call) *sandbox.Spec {
	if t.opts.Box == nil {
		return nil
	}
	return t.opts.Box(c.Confinement).Hiding(c.Hidden)
}

// confined says what the command of a call is held to.
func (t *Tools) confined(o *Output, c *tool.Call, box *sandbox.Spec) {
	switch o.Confinement = c.Confinement; {
	case o.Confinement == "":
	case box == nil:
		o.Confinement, o.Sandbox = tool.Unconfined, sandbox.TierNone.String()
	case box.Thin: // which only this holds
		o.Sandbox = sandbox.TierBox.String()
	default:
		o.Sandbox = t.host.Tier(box.Network).Kind.String() // it was found to start the command
	}
}

// maxRefused bounds what is remembered of commands that the sandbox was in the way
// of.
const maxRefused = 64

// Refused returns what the sandbox prevented a command of an agent from doing; "" if it
// prevented nothing, or the command has not run. It is shown to a user who is asked to let the
// command run outside the sandbox.
func (t *Tools) Refused(agent, command string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range slices.Backward(t.refused) {
		if r.agent == agent && r.command == command {
			return r.wanted
		}
	}
	return ""
}

// A refusedCommand wanted what the sandbox does not let it have.
type refusedCommand struct{ agent, command, wanted string }

func (t *Tools) remember(r refusedCommand) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refused = append(t.refused, r); len(t.refused) > maxRefused {
		t.refused = slices.Delete(t.refused, 0, 1)
	}
}

// confinedEnd says what the sandbox has kept a command from, if that is why it
// failed, and how it can run outside if the user can be asked.
func (t *Tools) confinedEnd(o *Output, agent string, in Input, box *sandbox.Spec, s shellrun.Status) {
	if o.Confinement == "" || o.Confinement == tool.Unconfined {
		return
	}
	o.Sandbox = s.Tier.String()
	o.withheld(box, s)
	if o.Confinement == tool.Held || o.ExitCode == 0 || o.CodeMeaning != "" {
		return
	}
	var closed []string
	if box != nil {
		closed = box.Deny
	}
	wanted := o.wanted(s.Refused, closed)
	if wanted == "" {
		return
	}
	t.remember(refusedCommand{agent, in.Command, wanted})
	where := "ran in a sandbox where it can only write in the project and reach the hosts that the settings allow"
	if o.Confinement == tool.ReadOnly {
		where = "was allowed as read-only, and ran in a sandbox without write access or network"
	}
	note := fmt.Sprintf("The command %s. It tried to %s.", where, wanted)
	if t.opts.Unsandboxed && !in.DangerouslyDisableSandbox {
		note += " If it needs that, call Bash again with dangerouslyDisableSandbox set to true. Such a call needs the user's approval."
	}
	o.Notes = append(o.Notes, note)
}

// lastBytes is where complaints are, which come last.
func lastBytes(text string) string { return text[max(0, len(text)-4000):] }

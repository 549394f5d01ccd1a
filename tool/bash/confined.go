package bash

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/haftdev/haft/sandbox"
	"github.com/haftdev/haft/shellrun"
	"github.com/haftdev/haft/tool"
)

// box is what confines a call's command; nil if nothing does.
func (t *Tools) box(c *tool.Call) *sandbox.Spec {
	if t.opts.Box == nil {
		return nil
	}
	return t.opts.Box(c.Confinement).Hiding(c.Hidden)
}

// ConfinedTo implements [tool.Confined].
func (o Output) ConfinedTo() (tool.Confinement, string) { return o.Confinement, o.Sandbox }

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
func (t *Tools) confinedEnd(o *Output, agent string, in Input, s shellrun.Status) {
	if o.Confinement == "" || o.Confinement == tool.Unconfined {
		return
	}
	o.Sandbox = s.Tier.String()
	for _, taken := range s.Taken {
		o.note("Commands in the sandbox may not create %s, so it was moved to %s.", taken.Path, taken.Kept)
	}
	if o.Confinement == tool.Held {
		o.heldEnd()
		return
	}
	if o.ExitCode == 0 || o.CodeMeaning != "" {
		return
	}
	wanted := o.wanted(s.Refused)
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

// heldEnd says that rules were in the way of a command, whatever its exit code: git, for
// example, leaves a file that it cannot replace, and succeeds.
func (o *Output) heldEnd() {
	text := lastBytes(o.Stdout)
	if m := readOnlyPath().FindStringSubmatch(text); m != nil {
		o.note("A rule denies changes of %s, so the command was kept from it.", strings.Trim(m[1], "‘’'\"`"))
	} else if readOnlyFault().MatchString(text) {
		o.note("A rule denies changes of a file that the command tried to change, so it was kept from it.")
	}
}

// wanted says what a command was refused, "" if nothing shows that it was.
func (o *Output) wanted(refused []string) string {
	if len(refused) > 0 {
		return "reach " + strings.Join(refused[:min(len(refused), 5)], ", ")
	}
	text := lastBytes(o.Stdout)
	if m := readOnlyPath().FindStringSubmatch(text); m != nil {
		return "write to " + strings.Trim(m[1], "‘’'\"`")
	}
	switch {
	case readOnlyFault().MatchString(text):
		return "write where it may not"
	case networkFault().MatchString(text):
		return "reach the network"
	case o.Sandbox == sandbox.TierLandlock.String() && deniedFault().MatchString(text): // which has no other answer
		return "do something that the sandbox denies"
	}
	return ""
}

// lastBytes is where complaints are, which come last.
func lastBytes(text string) string { return text[max(0, len(text)-4000):] }

// Programs report what the kernel refused in the words of the C library, node in
// names of its own. A protected file is a mount, so replacing it, as git does with its
// configuration, fails because it is busy.
var (
	readOnlyPath = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`([^\s:]*/[^\s:]*|[‘'"` + "`" + `][^:\n]+?[’'"` + "`" + `])\s*(?:to [^:\n]+)?: (?:Read-only file system|Device or resource busy)`)
	})
	readOnlyFault = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)read-only file ?system|device or resource busy|\b(?:EROFS|EBUSY)\b`)
	})
	deniedFault  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)permission denied|\bEACCES\b`) })
	networkFault = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)could not resolve (?:host|proxy)|temporary failure in name resolution|name or service not known|network is unreachable|\b(?:EAI_AGAIN|ENOTFOUND|ENETUNREACH)\b|tunnel failed, response 403|no such host`)
	})
)

package bash

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/haftdev/haft/internal/pathin"
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
func (t *Tools) confinedEnd(o *Output, agent string, in Input, box *sandbox.Spec, s shellrun.Status) {
	if o.Confinement == "" || o.Confinement == tool.Unconfined {
		return
	}
	o.Sandbox = s.Tier.String()
	o.withheld(box, s)
	if o.Confinement == tool.Held || o.ExitCode == 0 || o.CodeMeaning != "" {
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

// withheld says first what the sandbox kept a command from, whatever its exit code: git, for
// example, leaves a file that it cannot replace, and succeeds.
func (o *Output) withheld(box *sandbox.Spec, s shellrun.Status) {
	reached := slices.Concat(s.Refused, s.Missed)
	if n := len(reached); n > 0 {
		o.HeldBack = fmt.Sprintf("the sandbox kept the command from %s%s.", strings.Join(reached[:min(n, 5)], ", "), moreThan(n, 5))
	}
	for i, taken := range s.Taken {
		if i == 0 {
			o.NotDone = fmt.Sprintf("Not applied: %s is protected, and commands in the sandbox may not create it.", taken.Path)
		}
		o.note("Commands in the sandbox may not create %s, so it was moved to %s.", taken.Path, taken.Kept)
	}
	if path, why := o.unwritten(box); path != "" && o.NotDone == "" {
		o.NotDone = fmt.Sprintf("Not applied: the command tried to change %s, which %s.", path, why)
	}
}

func moreThan(n, most int) string {
	if n <= most {
		return ""
	}
	return fmt.Sprintf(" and %d more", n-most)
}

// unwritten finds a path that the command says it could not write, and that it indeed could
// not: "" if there is none.
func (o *Output) unwritten(box *sandbox.Spec) (path, why string) {
	if box == nil {
		return "", ""
	}
	for _, m := range readOnlyPath().FindAllStringSubmatch(lastBytes(o.Stdout), 50) {
		path := strings.Trim(m[1], "‘’'\"`")
		if !filepath.IsAbs(path) {
			path = filepath.Join(o.WorkingDirectory, path)
		}
		if why := held(box, path); why != "" {
			return path, why
		}
	}
	return "", ""
}

// held says why a command in a box cannot write a path; "" if it can.
func held(box *sandbox.Spec, path string) string {
	in := func(list []string) bool {
		return slices.ContainsFunc(list, func(dir string) bool { return pathin.Contains(dir, path) })
	}
	switch {
	case !box.Thin && len(box.Write) == 0:
		return "this command may only read"
	case box.Tmp.Entry(path) != "" && !box.Tmp.Own(path) && !in(box.Write):
		return "another program had there before this session"
	case in(box.Deny) || in(box.Protect):
		return "a rule or haft protects"
	case box.Thin || in(box.Write) || in(box.Scratch) || box.Tmp.Entry(path) != "":
		return ""
	}
	return "is outside the project"
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

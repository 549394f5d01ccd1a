package bash

import (
	"fmt"
	"regexp"
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
	return t.opts.Box(c.Confinement)
}

// confined says what the command of a call was held to, which is less than the
// verdict where the machine confines nothing.
func (o *Output) confined(c *tool.Call, box *sandbox.Spec) {
	if o.Confinement = c.Confinement; o.Confinement != "" && box == nil {
		o.Confinement = tool.Unconfined
	}
}

// confinedEnd says what the sandbox has kept a command from, if that is why it
// failed. ask says that the user can be asked to let it run outside.
func (o *Output) confinedEnd(s shellrun.Status, ask bool) {
	if o.Confinement == "" || o.Confinement == tool.Unconfined {
		return
	}
	o.Sandbox = s.Tier.String()
	for _, taken := range s.Taken {
		o.note("Commands in the sandbox cannot make %s: it was moved to %s.", taken.Path, taken.Kept)
	}
	if o.ExitCode == 0 || o.CodeMeaning != "" {
		return
	}
	wanted := o.wanted(s.Refused)
	if wanted == "" {
		return
	}
	where := "ran in a sandbox where it can write in the project only and reach only the hosts that settings allow"
	if o.Confinement == tool.ReadOnly {
		where = "was allowed because it only reads, and ran in a sandbox where nothing can be written and nobody reached"
	}
	note := fmt.Sprintf("The command %s. It wanted to %s.", where, wanted)
	if ask {
		note += " If it needs that, call Bash again with dangerouslyDisableSandbox set to true: the user is then asked."
	}
	o.Notes = append(o.Notes, note)
}

// wanted says what a command was refused, "" if nothing shows that it was.
func (o *Output) wanted(refused []string) string {
	if len(refused) > 0 {
		return "reach " + names(refused)
	}
	text := lastBytes(o.Stdout)
	if m := readOnlyPath().FindStringSubmatch(text); m != nil {
		return "write to " + strings.Trim(m[1], "‘’'\"`")
	}
	switch {
	case readOnlyFault().MatchString(text):
		return "write where it cannot"
	case networkFault().MatchString(text):
		return "reach the network"
	}
	return ""
}

// lastBytes is where complaints are, which come last.
func lastBytes(text string) string { return text[max(0, len(text)-4000):] }

// Programs report what the kernel refused in the words of the C library, node in
// names of its own.
var (
	readOnlyPath = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`([^\s:]*/[^\s:]*|[‘'"` + "`" + `][^:\n]+?[’'"` + "`" + `])\s*(?:to [^:\n]+)?: Read-only file system`)
	})
	readOnlyFault = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)read-only file ?system|\bEROFS\b`) })
	networkFault  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)could not resolve (?:host|proxy)|temporary failure in name resolution|name or service not known|network is unreachable|\b(?:EAI_AGAIN|ENOTFOUND|ENETUNREACH)\b|tunnel failed, response 403|no such host`)
	})
)

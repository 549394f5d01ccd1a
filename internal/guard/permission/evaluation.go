package permission

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/tool"
)

// An evaluation gathers what is known about one call. decide then weighs it, in the same
// order for every tool.
type evaluation struct {
	policy  *Policy
	subject subject
	call    tool.Case

	denied    *finding        // a denial: nothing lifts it
	asked     *finding        // a rule or hook wants a user to decide
	critical  string          // what would be lost; asked in every mode
	protected string          // why no allow rule and no careful mode may approve it
	hard      string          // why not even a session that bypasses permissions may do it
	allowed   *finding        // allow rules account for all of it
	packages  string          // why only a rule, or the kernel, may approve it
	shared    string          // why a change of a file that it names may reach outside the project
	edits     bool            // it only edits project files
	readOnly  bool            // it was shown to change nothing
	contained bool            // it runs unasked because it is confined to reading
	direct    bool            // it runs unasked because the mode accepts edits, and it is confined to the project
	writes    bool            // it may change something
	changes   bool            // it does change something, as far as is known
	changedBy string          // the part of a command that does
	link      string          // that the file is a link, and where it leads
	person    bool            // the tool leaves it to a user
	harmless  *finding        // it may run without a rule
	why       string          // what to tell the user who is asked
	input     json.RawMessage // to run instead of the model's
	suggest   []string        // rules that would allow the next such call, if settles
	settles   bool            // what is missing is a rule, and nothing else

	analysis    *shell.Analysis // of a command; nil for other calls
	unsandboxed bool            // the call asks to run without the sandbox, and may
	excluded    bool            // the settings keep the command out of the sandbox
	hidden      []string        // what the command must not see if it runs unasked
	foreground  bool            // and that it must end with the call then
	held        bool            // the kernel keeps the command from what rules deny
	unheld      string          // why it cannot, and the command is not known to open only other files
	effects     *effects        // what the command changed; nil if that is not known
}

// A finding is something that speaks for or against a call.
type finding struct {
	reason  string
	message string
	rule    *Rule
}

func byRule(r *Rule, what string) *finding {
	return &finding{reason: what, rule: r}
}

// match looks for the first rule of each behaviour that covers the call.
func (h *evaluation) match(covers func(*Rule) bool) {
	for _, r := range h.policy.deny {
		if h.denied == nil && covers(r) {
			h.denied = byRule(r, "a rule denies it")
		}
	}
	for _, r := range h.policy.ask {
		if h.asked == nil && covers(r) {
			h.asked = byRule(r, "a rule requires asking")
		}
	}
}

// matchAllow looks for an allow rule that covers the whole call by itself.
func (h *evaluation) matchAllow(covers func(*Rule) bool) {
	for _, r := range h.policy.allow {
		if covers(r) {
			h.allowed = byRule(r, "a rule allows it")
			return
		}
	}
}

// decide is the order of things.
func (h *evaluation) decide() Decision {
	mode := h.policy.mode
	switch {
	case h.denied != nil:
		return h.end(tool.Deny, h.denied)
	case mode == Plan && h.changes:
		return h.end(tool.Deny, &finding{reason: strings.TrimSuffix("plan mode allows no changes: "+h.changedBy, ": ")})
	case h.asked != nil:
		return h.open(h.asked)
	case h.critical != "":
		return h.open(&finding{reason: "it may destroy " + h.critical})
	case h.person:
		return h.open(&finding{reason: cmp.Or(h.call.Own.Reason, "it is for the user to decide"), message: h.call.Own.Message})
	case h.unheld != "" && !(mode == Plan && h.changes):
		return h.decideUnheld()
	case mode == Bypass && h.hard != "":
		return h.end(tool.Deny, &finding{reason: h.hard, message: "Not even a session that bypasses permissions may change this. Ask the user to do it."})
	case mode == Bypass:
		return h.end(tool.Allow, &finding{reason: "the session bypasses permissions"})
	case mode == Plan && h.writes:
		return h.open(&finding{reason: "plan mode allows no changes, and " + cmp.Or(h.why, "this is not known to be read-only")})
	case h.protected != "":
		return h.open(&finding{reason: h.protected})
	case mode == AcceptEdits && h.edits:
		return h.end(tool.Allow, acceptsEdits)
	case h.allowed != nil:
		return h.end(tool.Allow, h.allowed)
	case h.readOnly:
		return h.end(tool.Allow, &finding{reason: "it changes nothing"})
	case h.harmless != nil:
		return h.end(tool.Allow, h.harmless)
	case h.runsDirectly():
		return h.end(tool.Allow, &finding{reason: "the session accepts edits, and it is confined to the project"})
	case h.packages != "":
		return h.open(&finding{reason: h.packages})
	case h.containable():
		h.contained, h.input = true, h.call.Tool.WithCommand(h.call.Call, h.analysis.Run)
		return h.end(tool.Allow, &finding{reason: "it runs in a sandbox without write access or network"})
	case h.confinedUnasked():
		return h.end(tool.Allow, &finding{reason: "it is confined to the project (sandbox.autoAllowBashIfSandboxed)"})
	case h.effects != nil:
		return h.decideEffects()
	}
	h.settles = true
	if bound := h.boundRules(); len(bound) > 0 && h.previewable() && h.policy.mode != DontAsk {
		return h.open(byRule(bound[0], "a rule allows it if it changes only the files in the rule, which a preview shows"))
	}
	if h.edits {
		return h.open(&finding{reason: fmt.Sprintf("in %s mode an edit needs approval", mode)})
	}
	return h.open(&finding{reason: cmp.Or(h.why, "no rule allows it")})
}

// containable reports whether a command may run without asking because it is confined to
// reading. A file that a rule wants to be asked about could still be read there, and printed.
func (h *evaluation) containable() bool {
	box := &h.policy.sandbox
	return h.analysis != nil && h.analysis.Contained && h.policy.mode != Plan && !box.Off && !h.unsandboxed && !h.excluded && box.Boxed != nil && box.Boxed() && h.policy.keepsFiles()
}

// open leaves the call to a user, or denies it in a session that must not ask.
func (h *evaluation) open(f *finding) Decision {
	if h.policy.mode != DontAsk {
		return h.end(tool.Ask, f)
	}
	d := h.end(tool.Deny, f)
	d.Unasked = true
	d.Reason += ", and dontAsk mode never asks"
	d.Message = "Denied: " + d.Reason + "." + d.Remedy()
	return d
}

func (h *evaluation) end(b tool.Behavior, f *finding) Decision {
	v := tool.Verdict{Behavior: b, Reason: f.reason, Message: f.message}
	if b != tool.Deny {
		v.Confinement = h.confinement()
	}
	if b == tool.Ask && h.previewable() {
		v.Confinement = tool.Previewed
	}
	if f.rule != nil {
		v.Rule, v.Origin = f.rule.Text, f.rule.Origin.String()
	}
	if b == tool.Allow {
		v.Input, v.Hidden, v.Foreground = h.input, h.hidden, h.foreground
	}
	if b == tool.Ask {
		v.Reason += h.link
		v.NeedsPerson = h.person || h.policy.mode == Plan && h.writes
	}
	if h.settles && h.edits {
		v.AllowedIn = string(AcceptEdits)
	}
	if h.settles {
		for _, rule := range h.suggest {
			v.Suggestions = append(v.Suggestions, tool.Suggestion{Rule: rule, Behavior: tool.Allow, Scope: "local"})
		}
	}
	return Decision{Verdict: v, ReadOnly: h.readOnly}
}

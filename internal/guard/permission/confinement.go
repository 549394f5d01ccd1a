package permission

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/tool"
)

// A Sandbox is what the settings say about confining commands. The zero value confines only
// commands that just read.
type Sandbox struct {
	// Off confines nothing.
	Off bool
	// Enabled confines commands that may write to the project.
	Enabled bool
	// AutoAllow lets a command that is confined to the project run without asking.
	AutoAllow bool
	// Enforced ignores the request of a call to run its command outside the sandbox.
	Enforced bool
	// Excluded are patterns, as in rules about Bash, of commands that are not confined. A
	// single word means a program with any arguments.
	Excluded []string
	// Domains are those that commands confined to the project can reach in addition to what
	// rules allow WebFetch to fetch; DeniedDomains are those that they cannot.
	Domains, DeniedDomains []string
	// Refused returns what the sandbox has prevented a command of an agent from doing
	// before, such as "reach example.com:443"; "" if nothing. Nil means that it is not
	// known.
	Refused func(agent, command string) string
	// Previews reports whether a command that is asked about first runs in a preview and is
	// judged by its changes; nil means that none do.
	Previews func() bool
	// DropRest reports whether changes that nothing allows are dropped without asking; nil
	// means that the user is asked.
	DropRest func() bool
	// Direct reports whether a session that accepts edits runs commands at once, confined to
	// the project, instead of in a preview; nil means that it does not.
	Direct func() bool
	// Works reports whether this machine can confine commands; nil means that it can. A
	// command may run without asking because it is confined only if this is true.
	Works func() bool
	// Boxed reports whether it confines them in the strongest tier, which a check that may
	// run the project's code needs; nil means that it does not.
	Boxed func() bool
	// Holds reports whether it can keep any command from single files, those that rules
	// deny; nil means that it can.
	Holds func() bool
}

// confinement is the table of what confines a command, by its verdict. Explanations,
// questions, records and the command itself all use it.
func (h *evaluation) confinement() tool.Confinement {
	box := &h.policy.sandbox
	switch {
	case h.subject.kind != commandTool && h.subject.name != codeTool:
		return ""
	case h.effects != nil:
		return tool.Previewed
	case box.Off:
		return h.loosest()
	case h.unsandboxed || h.excluded:
		return h.loosest()
	case h.readOnly && h.analysis.Outside: // it asks about what no sandbox shows
		return h.loosest()
	case h.readOnly, h.contained:
		return tool.ReadOnly
	case box.Enabled, h.direct:
		return tool.ProjectOnly
	}
	return h.loosest() // the user who allowed it expects it to work, including the network
}

// loosest is what confines a command that nothing else does: deny rules hold for it, too.
func (h *evaluation) loosest() tool.Confinement {
	if h.held {
		return tool.Held
	}
	return tool.Unconfined
}

// previewable reports whether a command that is asked about runs in a preview first.
func (h *evaluation) previewable() bool {
	box := &h.policy.sandbox
	return h.subject.kind == commandTool && !h.call.Looked && !box.Off && !h.unsandboxed && !h.excluded && !h.inBackground() && box.Previews != nil && box.Previews()
}

// inBackground reports whether the call returns while its command runs.
func (h *evaluation) inBackground() bool {
	background, _ := h.subject.params["run_in_background"].(bool)
	return background
}

// confinedUnasked reports whether a command may run without asking because it is confined
// to the project.
func (h *evaluation) confinedUnasked() bool {
	box := &h.policy.sandbox
	if !box.AutoAllow || h.confinement() != tool.ProjectOnly || box.Works != nil && !box.Works() {
		return false
	}
	return h.keptFromHidden()
}

// keptFromHidden reports whether a command that is confined to the project can be kept from
// the files that rules keep from being read.
func (h *evaluation) keptFromHidden() bool {
	rule := h.policy.hidingRule()
	if rule != nil && (h.inBackground() || h.subject.name == codeTool) { // whose process stays
		h.why = "it would keep running after the call, and could read files made later that the rule " + rule.Text + " covers"
		return false
	}
	hidden, err := h.policy.Hidden()
	if err == nil && len(hidden) > 0 {
		err = h.policy.checkHideable(hidden)
	}
	if errors.Is(err, errInGit) && len(h.policy.ask) == 0 && onlyGit(h.analysis) {
		err = nil // what git prints was looked at, and rules that deny close the files
	}
	if err != nil {
		h.why = err.Error()
		return false
	}
	h.hidden, h.foreground = hidden, rule != nil
	return true
}

// hidingRule returns a rule that keeps files from being read, whether there are any yet or
// not; nil if there is no such rule. What is hidden from a command is what was there when it
// started.
func (p *Policy) hidingRule() *Rule {
	for _, rules := range [][]*Rule{p.deny, p.ask} {
		if i := slices.IndexFunc(rules, func(r *Rule) bool { return r.path != nil && r.name == readRule }); i >= 0 {
			return rules[i]
		}
	}
	return nil
}

// checkHideable reports an error if a command that is confined to the project could see
// files that rules keep from being read.
func (p *Policy) checkHideable(hidden []string) error {
	if p.sandbox.Boxed == nil || !p.sandbox.Boxed() {
		return fmt.Errorf("a rule keeps %s from being read, and the sandbox of this machine cannot hide it", hidden[0])
	}
	file, err := p.heldByGit(hidden)
	switch {
	case err != nil:
		return fmt.Errorf("rules keep files from being read, and it is not known whether git has copies of them (%w)", err)
	case file != "":
		return fmt.Errorf("a rule keeps %s from being read, and %w", file, errInGit)
	}
	return nil
}

var errInGit = errors.New("git has a copy of it")

// evaluateConfinement adds what the call and the settings say about confinement.
func (h *evaluation) evaluateConfinement(a *shell.Analysis) {
	box := &h.policy.sandbox
	h.analysis = a
	asks, _ := h.subject.params["dangerouslyDisableSandbox"].(bool)
	h.unsandboxed = asks && !box.Enforced
	h.excluded = h.policy.excludes(a)
	if h.unsandboxed && !box.Off && (a.ReadOnly || box.Enabled) {
		h.why = "it asks to run without the sandbox"
		if box.Refused == nil {
			return
		}
		if wanted := box.Refused(h.call.Call.Agent, h.subject.Command); wanted != "" {
			h.why += ", in which it wanted to " + wanted
		}
	}
}

// excludes reports whether the settings exclude a command from the sandbox: every part of
// it that needs a rule, or any part if it only reads.
func (p *Policy) excludes(a *shell.Analysis) bool {
	matches := func(c shell.Command) bool {
		return slices.ContainsFunc(p.excluded, func(t *textPattern) bool { return t.matches(fullText(c)) })
	}
	if a.ReadOnly {
		return slices.ContainsFunc(a.Deny, matches)
	}
	return a.Exact && len(a.Allow) > 0 && !slices.ContainsFunc(a.Allow, func(c shell.Command) bool { return c.Dynamic || !matches(c) })
}

// setSandbox compiles what the settings say.
func (p *Policy) setSandbox(box Sandbox) {
	p.sandbox = box
	for _, text := range box.Excluded {
		p.excluded = append(p.excluded, newTextPattern(text))
		if len(strings.Fields(text)) == 1 && !strings.Contains(text, "*") {
			p.excluded = append(p.excluded, newTextPattern(text+":*"))
		}
	}
	for _, list := range []struct {
		domains []string
		to      *[]*domainPattern
	}{{box.Domains, &p.reached}, {box.DeniedDomains, &p.unreached}} {
		for _, domain := range list.domains {
			d, err := newDomainPattern("domain:" + domain)
			if err != nil {
				r := Rule{Text: "sandbox.network " + domain, Origin: settings.Origin{}}
				p.problems = append(p.problems, RuleProblem{r, errors.New("it is not a domain such as example.com or *.example.com")})
				continue
			}
			*list.to = append(*list.to, d)
		}
	}
}

// Reach returns why a command that is confined to the project cannot reach a host; nil if
// it can. It applies the rules about what WebFetch may fetch, and the domains of the
// sandbox.
func (p *Policy) Reach(name string) error {
	address := "https://" + name + "/"
	if strings.Contains(name, ":") {
		address = "https://[" + name + "]/"
	}
	host, clear := hostOf(address)
	// What ends a name in an address must not be looked up as part of it.
	if !clear || !strings.Contains(name, ":") && strings.ContainsFunc(name, notInNames) {
		return fmt.Errorf("%q is not a valid host name", name)
	}
	matches := func(d *domainPattern) bool { return d.matches(host) }
	byRule := func(r *Rule) bool { return r.names("WebFetch") && r.domain != nil && r.domain.matches(host) }
	switch {
	case slices.ContainsFunc(p.unreached, matches), slices.ContainsFunc(p.deny, byRule):
		return fmt.Errorf("%s is denied", host)
	case slices.ContainsFunc(p.reached, matches), slices.ContainsFunc(p.allow, byRule):
		return nil
	}
	return fmt.Errorf("no rule allows %s", host)
}

func notInNames(r rune) bool {
	return r < unicode.MaxASCII && r != '.' && r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

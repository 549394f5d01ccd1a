package permission

import (
	"cmp"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/text/secret"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// A Policy is everything that decides about calls at a given time in a session.
type Policy struct {
	mode     Mode
	deny     []*Rule
	ask      []*Rule
	allow    []*Rule
	bound    []*Rule // that allow commands on a condition about what they change
	problems []RuleProblem
	guard    *guard.Guard
	dir      func(agent string) string
	commands shell.FS // what is known about programs and folders
	analyzed func(command string)
	at       places
	real     places // the same folders by their physical names

	held               *heldFiles
	sandbox            Sandbox
	excluded           []*textPattern
	reached, unreached []*domainPattern
}

// Options make a [Policy].
type Options struct {
	// Mode of the session; "" means Default.
	Mode Mode
	// Rules of all sources. Their order does not matter, except that if several decide
	// alike, the first is given as the reason.
	Rules []Rule
	// Trusted says that the project's rules among Rules may allow: the user has trusted
	// them.
	Trusted bool
	// Guard judges paths by the project's folders and the working directory.
	Guard *guard.Guard
	// Home is the user's home folder; "" means that rules about it match nothing.
	Home string
	// Dir returns where the commands of an agent start, which changes as they run; nil
	// means always in the guard's directory.
	Dir func(agent string) string
	// Commands is what is known about the programs and folders that commands name; nil
	// means the file system of this machine.
	Commands shell.FS
	// Analyzed is called with each command that is analyzed; nil means not to.
	Analyzed func(command string)
	// Sandbox says how commands are confined.
	Sandbox Sandbox
}

// NewPolicy compiles the rules. Invalid rules are left out and reported by
// [Policy.Problems].
func NewPolicy(opts Options) *Policy {
	p := &Policy{mode: opts.Mode, guard: opts.Guard, dir: opts.Dir, commands: opts.Commands, analyzed: opts.Analyzed, held: &heldFiles{}}
	if p.mode == "" {
		p.mode = Default
	}
	if p.commands == nil {
		p.commands = shell.OS{}
	}
	p.at = places{start: opts.Guard.Cwd(), home: opts.Home, project: opts.Guard.Roots()[0], cwd: opts.Guard.Cwd()}
	p.real = places{p.physical(p.at.start), p.physical(p.at.home), p.physical(p.at.project), p.physical(p.at.cwd)}
	p.setSandbox(opts.Sandbox)
	for _, r := range opts.Rules {
		p.add(r, opts.Trusted)
	}
	return p
}

func (p *Policy) physical(dir string) string {
	if dir == "" {
		return ""
	}
	return p.guard.Look(dir).Real
}

func (p *Policy) add(r Rule, trusted bool) {
	if err := r.compile(); err != nil {
		p.problems = append(p.problems, RuleProblem{r, err})
		return
	}
	switch r.Behavior {
	case tool.Deny:
		p.deny = append(append(p.deny, &r), r.spellings(p.at.home)...)
	case tool.Ask:
		p.ask = append(append(p.ask, &r), r.spellings(p.at.home)...)
	case tool.Allow:
		// A project must not loosen anything before it is trusted.
		switch {
		case r.Origin.Source.InProject() && !trusted:
		case r.within != nil:
			p.bound = append(p.bound, &r)
		case p.mode != Auto || !r.tooBroadForAuto():
			p.allow = append(append(p.allow, &r), r.spellings(p.at.home)...)
		}
	}
}

// Allowed returns the allow rules, as written.
func (p *Policy) Allowed() (texts []string) {
	for _, r := range slices.Concat(p.allow, p.bound) {
		texts = append(texts, r.Text)
	}
	return slices.Compact(texts)
}

// Problems returns the rules that could not be used.
func (p *Policy) Problems() []RuleProblem { return p.problems }

// Mode returns the mode of the policy.
func (p *Policy) Mode() Mode { return p.mode }

// A Decision is a verdict and its basis.
type Decision struct {
	tool.Verdict
	// ReadOnly says that the call was shown to change nothing.
	ReadOnly bool
}

// Decide judges a call. It changes nothing and asks no one.
func (p *Policy) Decide(c tool.Case) Decision {
	p = p.forCall(c.Call)
	h := &evaluation{policy: p, subject: newSubject(c.Tool, c.Call), call: c}
	h.takeToolAndHooks()
	switch h.subject.kind {
	case commandTool:
		h.evaluateCommand()
	case readTool, editTool:
		h.evaluateFiles()
	case webTool:
		h.evaluateAddress()
	default:
		h.evaluateOther()
	}
	if c.Ran() && h.subject.kind == commandTool {
		h.evaluateEffects()
	}
	if h.subject.kind == commandTool || h.subject.name == codeTool {
		h.evaluateHeld()
	}
	return h.decide()
}

// evaluateAddress evaluates a tool that fetches an address.
func (h *evaluation) evaluateAddress() {
	host, clear := hostOf(h.subject.Address)
	covers := func(r *Rule) bool {
		if !r.names(h.subject.name) {
			return false
		}
		if r.param != nil {
			return r.param.matches(&h.subject)
		}
		return r.domain == nil || clear && r.domain.matches(host)
	}
	h.match(covers)
	if i := slices.IndexFunc(h.policy.deny, func(r *Rule) bool { return r.domain != nil }); i >= 0 && !clear && h.asked == nil {
		h.asked = byRule(h.policy.deny[i], "the address is ambiguous, so haft cannot tell whether a deny rule covers it")
	}
	h.matchAllow(covers)
	if clear {
		if rule := "WebFetch(domain:" + host + ")"; !strings.Contains(host, "*") && h.usable(rule, covers) {
			h.suggest = []string{rule}
		}
	} else {
		h.why = "the address is ambiguous"
		h.allowed = nil
	}
}

// evaluateOther evaluates every other tool.
func (h *evaluation) evaluateOther() {
	h.writes = true
	if t := h.call.Tool; t != nil {
		h.writes = !h.subject.Marks.ReadOnly
	}
	h.changes = h.writes
	covers := func(r *Rule) bool {
		switch {
		case !r.names(h.subject.name):
			return false
		case r.param != nil:
			return r.param.matches(&h.subject)
		}
		// A rule about a command, a path or an address that the tool does not report may be
		// about this call. That is enough to deny it, but not to allow it.
		return r.spec == "" || r.Behavior != tool.Allow
	}
	h.match(covers)
	h.evaluateFileURIs()
	h.matchAllow(covers)
	rules := []string{h.subject.name}
	if own := h.call.Own.Suggestions; len(own) > 0 {
		rules = nil // the tool knows a narrower rule
		for _, s := range own {
			rules = append(rules, s.Rule)
		}
	}
	if slices.ContainsFunc(rules, func(rule string) bool { return h.usable(rule, covers) }) {
		h.suggest = rules
	}
}

// takeToolAndHooks adds what the tool and the hooks said.
func (h *evaluation) takeToolAndHooks() {
	own, hook := h.call.Own, h.call.Hook
	if hook.Behavior == tool.Deny {
		h.denied = &finding{reason: "a hook denied it", message: hook.Message}
	} else if own.Behavior == tool.Deny {
		h.denied = &finding{reason: cmp.Or(own.Reason, "the tool rejects it"), message: own.Message}
	}
	if hook.Behavior == tool.Ask {
		h.asked = &finding{reason: "a hook requires asking", message: hook.Message}
	}
	if hook.Behavior == tool.Allow {
		h.harmless = &finding{reason: cmp.Or(hook.Reason, "a hook allowed it")}
	} else if own.Behavior == tool.Allow {
		h.harmless = &finding{reason: cmp.Or(own.Reason, "the tool itself says that it is harmless")}
	}
	h.person = own.Behavior == tool.Ask && own.NeedsPerson
	h.why = own.Message
}

// Denies reports whether a rule denies every call of a tool, so that the model does not
// have to see it.
func (p *Policy) Denies(t *tool.Tool) bool {
	for _, r := range p.deny {
		if r.spec != "" {
			continue
		}
		if r.names(t.Name) || slices.ContainsFunc(t.Aliases, r.names) {
			return true
		}
	}
	return false
}

// forCall returns the policy with the directory of a call: its own, or the agent's now.
func (p *Policy) forCall(c *tool.Call) *Policy {
	if c.Dir != "" || p.dir == nil {
		return p.in(c.Dir)
	}
	return p.in(p.dir(c.Agent))
}

// in returns the policy with another working directory.
func (p *Policy) in(dir string) *Policy {
	if dir == "" || dir == p.at.cwd {
		return p
	}
	n := *p
	n.guard = p.guard.At(dir)
	n.at.cwd, n.real.cwd = dir, p.physical(dir)
	return &n
}

// Matches reports whether a rule, such as one in a hook's matcher, covers a call.
func (p *Policy) Matches(rule string, t *tool.Tool, c *tool.Call) (bool, error) {
	r := Rule{Text: rule, Behavior: tool.Deny}
	if err := r.compile(); err != nil {
		return false, err
	}
	only := *p
	only.deny, only.ask, only.allow = []*Rule{&r}, nil, nil
	d := only.Decide(tool.Case{Tool: t, Call: c})
	return d.Behavior == tool.Deny && d.Rule == rule, nil
}

// MaySearch reports whether a search may show the content of a file that it finds. It
// leaves out what Read would ask about or deny as a secret. The path is physical.
func (p *Policy) MaySearch(path string) bool {
	switch p.guard.Secret(path) {
	case secret.Closed:
		return false
	case secret.Guarded:
		return p.mode == Bypass && p.MayRead(path)
	}
	return p.MayRead(path)
}

// MayShow reports whether a file may be shown to a model without asking: it is not a secret
// and no rule denies it. Unlike [Policy.MaySearch], it follows links.
func (p *Policy) MayShow(path string) bool {
	f := p.guard.Look(path)
	return p.MayRead(f.Path) && p.MayRead(f.Real) && f.Sensitive.Read == guard.Allow
}

// MayRead reports whether a search may open a file or list its name. It is called with the
// physical path of every file that a search finds, so it looks at the file system only
// outside the project.
func (p *Policy) MayRead(path string) bool {
	named := guard.Facts{Path: path, Real: path}
	for _, r := range p.deny {
		if r.name == readRule && r.path != nil && r.coversPath(named, p) {
			return false
		}
	}
	if pathin.Contains(p.real.project, path) {
		return true
	}
	return p.guard.Look(path).Verdict(guard.Read).Decision != guard.Deny
}

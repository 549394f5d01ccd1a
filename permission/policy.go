package permission

import (
	"path/filepath"
	"slices"

	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/internal/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// A Policy is everything that decides about calls, at one moment of a session.
type Policy struct {
	mode     Mode
	deny     []*Rule
	ask      []*Rule
	allow    []*Rule
	problems []RuleProblem
	guard    *guard.Guard
	dir      func(agent string) string
	commands shell.FS // what is known about programs and folders
	at       places
	real     places // the same folders by their physical names

	sandbox            Sandbox
	excluded           []*textPattern
	reached, unreached []*domainPattern
}

// Options make a [Policy].
type Options struct {
	// Mode of the session; "" means Default.
	Mode Mode
	// Rules of all sources. Their order does not matter, except that the first
	// of several that decide alike is named as the reason.
	Rules []Rule
	// Trusted says that the rules of the project that are among Rules may allow,
	// because package trust let them pass.
	Trusted bool
	// Guard knows paths, the project's folders and the working directory.
	Guard *guard.Guard
	// Home is the person's home folder; "" means that rules about it match nothing.
	Home string
	// Dir returns where the commands of an agent start, which changes as they run;
	// nil means always in the guard's directory.
	Dir func(agent string) string
	// Commands is what is known about the programs and folders that commands
	// name; nil means the file system of this machine.
	Commands shell.FS
	// Sandbox says how commands are confined.
	Sandbox Sandbox
}

// NewPolicy compiles the rules. Those that are wrong are left out and reported
// by [Policy.Problems].
func NewPolicy(opts Options) *Policy {
	p := &Policy{mode: opts.Mode, guard: opts.Guard, dir: opts.Dir, commands: opts.Commands}
	if p.mode == "" {
		p.mode = Default
	}
	if p.commands == nil {
		p.commands = shell.OS{}
	}
	p.at = places{cwd: opts.Guard.Cwd(), home: opts.Home, project: opts.Guard.Roots()[0]}
	p.real = places{p.physical(p.at.cwd), p.physical(p.at.home), p.physical(p.at.project)}
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
		p.deny = append(p.deny, &r)
	case tool.Ask:
		p.ask = append(p.ask, &r)
	case tool.Allow:
		// A project must not loosen anything before it is trusted.
		if (!r.Origin.Source.InProject() || trusted) && (p.mode != Auto || !r.tooBroadForAuto()) {
			p.allow = append(p.allow, &r)
		}
	}
}

// Problems returns the rules that could not be used.
func (p *Policy) Problems() []RuleProblem { return p.problems }

// Mode returns the mode of the policy.
func (p *Policy) Mode() Mode { return p.mode }

// A Decision is a verdict and what it rests on.
type Decision struct {
	tool.Verdict
	// ReadOnly says that the call was shown to change nothing.
	ReadOnly bool
}

// Decide judges a call. It changes nothing and asks nobody.
func (p *Policy) Decide(c tool.Case) Decision {
	if p.dir != nil {
		p = p.in(p.dir(c.Call.Agent))
	}
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
	return h.decide()
}

// Denies reports whether a rule denies every call of a tool, so that nobody need
// know of it.
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

// tooBroadForAuto reports whether an allow rule would let a classifier's session
// run anything: all commands, or an interpreter with any argument.
func (r *Rule) tooBroadForAuto() bool {
	if r.name != "Bash" {
		return false
	}
	if r.command == nil || r.command.blanket() {
		return true
	}
	return !r.command.exact() && runsOthers(firstWord(r.command.parts[0]))
}

// Matches reports whether a rule, such as one in a hook's matcher, is about a call.
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

// MayRead reports whether a search may look into a file or name it. It is asked
// about every file that a search comes by, under its physical path, and so looks
// at the file system only outside the project.
func (p *Policy) MayRead(path string) bool {
	named := guard.Facts{Path: path, Real: path}
	for _, r := range p.deny {
		if r.name == readRule && r.path != nil && r.coversPath(named, p) {
			return false
		}
	}
	if rel, err := filepath.Rel(p.real.project, path); err == nil && filepath.IsLocal(rel) {
		return true
	}
	return p.guard.Look(path).Verdict(guard.Read).Decision != guard.Deny
}

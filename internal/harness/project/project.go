// Package project is what is set for a folder, and what of it counts: settings by trust,
// rules, hooks, MCP servers, skills, commands and agents, the limits and the environment.
//
//	p, err := project.Open(&project.Options{Dir: "."})
//
// It reads files and says what they mean for the harness; it starts nothing and knows no
// conversation. A Project is safe for concurrent use.
package project

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/config/keep"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/audit"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/harness/box"
	"github.com/haftdev/haft/internal/tools/task"
	"github.com/haftdev/haft/internal/world/mcp/toolhost"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// A Project is what is set for a folder. Its fields are not to be modified.
type Project struct {
	Dir, Home string
	Settings  *settings.Settings // what the files say
	Counts    *settings.Settings // what of it counts
	Held      []trust.Held       // what does not, for lack of trust
	Folder    *trust.Folder      // nil if there is nowhere to keep trust, or Own is set
	Own       bool               // the folder holds the user's own settings and approvals: there is nothing of others' to trust in it
	Guard     *guard.Guard
	Library   *Library
	Hooks     *Hooks
	Kept      *Kept
	Boxes     box.Boxes    // what of it confined programs may touch
	Tmp       *sandbox.Tmp // what was in the temporary directories before

	// Options are what it was opened with.
	Options Options

	files settings.Options
}

// Open reads the settings of a folder and the project around it.
func Open(opts *Options) (*Project, error) {
	p := &Project{Kept: newKept()}
	if opts != nil {
		p.Options = *opts
	}
	wd, err := filepath.Abs(p.Options.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the working directory: %w", err)
	}
	root, err := trust.FindRoot(wd)
	if err != nil {
		return nil, err
	}
	p.Dir = root.Path
	p.Home, _ = os.UserHomeDir() // without one there are no user settings
	p.files = settings.Options{Home: p.Home, Shared: sharedFolder(p.Home), Project: p.Dir, Flag: p.Options.Settings, Sources: p.Options.Sources}
	if p.Settings, err = settings.Load(&p.files); err != nil {
		return nil, err
	}
	if err := managedIntact(p.Settings); err != nil {
		return nil, err
	}
	if err := p.impose(p.Options.Managed); err != nil {
		return nil, err
	}
	enabling, err := p.enabling()
	if err != nil {
		return nil, err
	}
	p.Library = findPlugins(p.Home, p.files.Shared, p.Dir, enabling, &p.Options)
	p.Settings = p.Library.withPlugins(p.Settings)
	if err := p.filter(); err != nil {
		return nil, err
	}
	p.Library.fill(p, wd)
	p.Hooks = newHooks(p)
	p.Tmp = sandbox.LookAtTmp()
	return p, p.newGuard(wd)
}

// sharedFolder is the user's folder that Claude Code reads too, which a program may choose.
func sharedFolder(home string) string {
	if dir := os.Getenv("CLAUDE_CONFIG_DIR"); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".claude")
}

// Shared is the user's folder that Claude Code reads too; "" means that there is none.
func (p *Project) Shared() string { return p.files.Shared }

func (p *Project) newGuard(cwd string) (err error) {
	roots := []string{p.Dir}
	var named []string
	for _, d := range p.Counts.Directories() {
		named = append(named, d.Text)
	}
	for _, dir := range append(named, p.Options.AddDirs...) {
		if rest, ok := strings.CutPrefix(dir, "~/"); ok {
			dir = filepath.Join(p.Home, rest)
		} else if !filepath.IsAbs(dir) {
			dir = filepath.Join(p.Dir, dir)
		}
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			roots = append(roots, dir)
		}
	}
	p.Guard, err = p.GuardOf(roots, cwd)
	p.Boxes = box.Boxes{Dir: p.Dir, Home: p.Home, Shared: p.files.Shared, Counts: p.Counts, Guard: p.Guard, Tmp: p.Tmp, Kept: p.Kept.folders}
	return err
}

// GuardOf knows paths for a session that works in these folders.
func (p *Project) GuardOf(roots []string, cwd string) (*guard.Guard, error) {
	return guard.New(&guard.Options{Roots: roots, Home: p.Home, Shared: p.files.Shared, Cwd: cwd, State: workspace.StateDir(), Kept: p.Kept.Holds, PlanFile: p.Kept.PlanFile, Tmp: p.Tmp, Runs: p.runs(roots)})
}

// Policy returns what the session's policy is made of.
func (p *Project) Policy() (permission.Options, error) {
	opts := permission.Options{Rules: append(permission.Rules(p.Counts), p.flagRules()...), Trusted: true, Guard: p.Guard, Home: p.Home, Sandbox: sandboxPolicy(p.Counts.Sandbox()), Analyzed: p.Options.Analyzed}
	for _, r := range p.flagRules() {
		if err := r.Check(); err != nil {
			return opts, fmt.Errorf("the rule %q from the command line is invalid: %w", r.Text, err)
		}
	}
	mode := p.askedMode()
	var err error
	if opts.Mode, err = permission.ParseMode(mode.Text); err != nil {
		return opts, fmt.Errorf("%s: %w", mode.Origin, err)
	}
	by, off := p.Counts.Disabled(string(opts.Mode))
	switch {
	case off && p.Options.Mode != "" && p.Options.Typed:
		return opts, fmt.Errorf("the permission mode %s is disabled by %s: choose another one", opts.Mode, by)
	case off:
		opts.Mode = permission.Default // which is told by Warnings
	}
	return opts, nil
}

// sandboxPolicy is what the settings say about confinement to those who judge.
func sandboxPolicy(s settings.Sandbox) permission.Sandbox {
	return permission.Sandbox{
		Off: s.Mode == settings.SandboxOff, Enabled: s.Enabled, AutoAllow: s.AutoAllow, Enforced: !s.Unsandboxed,
		Excluded: texts(s.Excluded), Domains: texts(s.Domains), DeniedDomains: texts(s.DeniedDomains),
	}
}

func texts(list []settings.Text) []string {
	var out []string
	for _, t := range list {
		out = append(out, t.Text)
	}
	return out
}

// sentence ends a text with a full stop, unless it ends with a question.
func sentence(text string) string {
	if strings.HasSuffix(text, "?") || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// BadGuards refuses to begin where a rule that denies or asks cannot be understood: a
// session without it would be less guarded than its author believes. The user can start
// without it, unless it is the administrator's; a dry run needs no guards.
func (p *Project) BadGuards(opts permission.Options) error {
	for _, problem := range p.Settings.Problems() {
		if problem.Kind != settings.Skipped && problem.LosesRules() && !p.Options.IgnoreBadRules {
			return &UsageError{fmt.Errorf("%s Deny rules would be lost. Fix it, or start without it: --ignore-bad-rules", sentence(problem.String()))}
		}
	}
	for _, problem := range RuleProblems(opts) {
		r, wayOut := problem.Rule, "Fix it, or start without it: --ignore-bad-rules"
		switch {
		case r.Behavior == tool.Allow || p.Options.IgnoreBadRules && p.Options.DryRun:
			continue
		case r.Origin.Source == settings.Managed:
			wayOut = "Ask your administrator to fix it"
		case p.Options.IgnoreBadRules:
			continue
		}
		return &UsageError{fmt.Errorf("%s: the %s rule %q is invalid: %s %s", r.Origin, r.Behavior, r.Text, sentence(problem.Err.Error()), wayOut)}
	}
	return nil
}

// RuleProblems are the rules that cannot be used, those about tools that cannot exist
// among them. The command line's own are looked at where it is known who wrote them.
func RuleProblems(opts permission.Options) []permission.RuleProblem {
	problems := permission.NewPolicy(opts).Problems()
	for _, r := range opts.Rules {
		if err := Misnamed(r); err != nil && r.Origin != CommandLine {
			problems = append(problems, permission.RuleProblem{Rule: r, Err: err})
		}
	}
	return problems
}

// askedMode is the mode that the session is to begin in.
func (p *Project) askedMode() settings.Text {
	if p.Options.Mode != "" {
		return settings.Text{Text: p.Options.Mode, Origin: CommandLine}
	}
	mode, _ := p.Counts.Mode()
	return mode
}

// Target returns the settings file of a source, to keep rules in.
func (p *Project) Target(source settings.Source) (settings.Target, error) {
	return p.files.Target(source)
}

// CommandLine is the origin of what was said when haft was started.
var CommandLine = settings.Origin{Source: settings.Flag}

// flagRules are the rules of the command line.
func (p *Project) flagRules() []permission.Rule {
	var rules []permission.Rule
	for _, text := range p.Options.Allowed {
		rules = append(rules, permission.Rule{Text: text, Behavior: tool.Allow, Origin: CommandLine})
	}
	for _, text := range slices.Concat(p.Options.Disallowed, p.Library.skillsBut(p.Options.Skills)) {
		rules = append(rules, permission.Rule{Text: text, Behavior: tool.Deny, Origin: CommandLine})
	}
	if p.Options.ToolHost != nil { // where another haft judges each call, and asks
		rules = append(rules, permission.Rule{Text: "mcp__" + toolhost.Name, Behavior: tool.Allow, Origin: CommandLine})
	}
	return rules
}

// AuditLog is where this person's verdicts are written down.
func (p *Project) AuditLog() (*audit.Log, error) {
	return audit.NewLog(filepath.Join(keep.Log(), "audit.jsonl"), nil), nil
}

// Tasks are those of this project outside of sessions, which have their own.
func (p *Project) Tasks() *task.Store {
	sum := sha256.Sum256([]byte(p.Dir))
	return task.NewStore(filepath.Join(workspace.StateDir(), "tasks", hex.EncodeToString(sum[:16])), nil)
}

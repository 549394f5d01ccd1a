// Package project is what is set for a folder, and what of it counts: settings by trust,
// rules, hooks, MCP servers, skills, commands and agents, the limits and the environment.
//
//	p, err := project.Open(&project.Options{Dir: "."})
//
// It reads files and says what they mean for the harness; it starts nothing and knows no
// conversation. A Project is safe for concurrent use.
package project

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/config/keep"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/audit"
	"github.com/haftdev/haft/internal/guard/output"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/harness/box"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/internal/knowledge/instructions"
	"github.com/haftdev/haft/internal/knowledge/plugin"
	"github.com/haftdev/haft/internal/knowledge/style"
	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/internal/tools/task"
	"github.com/haftdev/haft/internal/tools/websearch"
	"github.com/haftdev/haft/internal/world/lsp"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/mcp/config"
	"github.com/haftdev/haft/internal/world/mcp/toolhost"
	"github.com/haftdev/haft/internal/world/mcp/wirelog"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/webpage"
	"github.com/haftdev/haft/internal/world/webpage/searxng"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/sched"
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

// managedIntact refuses to continue without what an administrator has set: a file
// that cannot be read may hold denials, and so may a list that cannot. No flag of the user
// replaces it.
func managedIntact(s *settings.Settings) error {
	for _, problem := range s.Problems() {
		if problem.Source == settings.Managed && (problem.Kind == settings.Skipped || problem.LosesRules()) {
			return fmt.Errorf("cannot use the managed settings; ask your administrator to fix them: %s", problem)
		}
	}
	return nil
}

// findPlugins begins a library with the plugins of a project, which the options add to.
func findPlugins(home, shared, project string, set *settings.Settings, o *Options) *Library {
	l := new(Library)
	var dirs []plugin.Dir
	for _, d := range plugin.Find(home, project) {
		switch {
		case !o.wants(d.Source):
		case d.ID != "" && !enabled(set, d.ID, true):
			l.Disabled = append(l.Disabled, d)
		default:
			dirs = append(dirs, d)
		}
	}
	for _, dir := range o.Plugins {
		dirs = append(dirs, plugin.Dir{Path: dir, Source: settings.Flag, NoServers: slices.Contains(o.NoServersOf, dir)})
	}
	if o.wants(settings.User) {
		var installed []plugin.Dir
		installed, l.Problems = plugin.Installed(shared, project, func(name string) bool { return enabled(set, name, false) })
		dirs = append(dirs, installed...)
	}
	var problems []knowledge.Problem
	l.Plugins, problems = plugin.Load(dirs)
	l.Problems = append(l.Problems, problems...)
	if o.wants(settings.User) {
		l.Problems = append(l.Problems, absent(set, slices.Concat(dirs, l.Disabled))...)
	}
	return l
}

// absent says which plugins settings enable that nobody has installed here.
func absent(set *settings.Settings, dirs []plugin.Dir) []knowledge.Problem {
	for _, f := range set.Files() {
		var named map[string]bool
		v, ok := f.Value("enabledPlugins")
		if !ok || json.Unmarshal(v.JSON, &named) != nil {
			continue
		}
		maps.DeleteFunc(named, func(id string, _ bool) bool {
			return !enabled(set, id, false) || slices.ContainsFunc(dirs, func(d plugin.Dir) bool { return d.ID == id })
		})
		if ids := slices.Sorted(maps.Keys(named)); len(ids) > 0 {
			return []knowledge.Problem{{Path: f.Path, Text: fmt.Sprintf("the plugins that it enables are not installed: %s. To install one, run: %shaft plugin install %s", strings.Join(ids, ", "), adding(set, ids[0]), ids[0])}}
		}
	}
	return nil
}

// adding is the command that adds the marketplace of a plugin before it is installed, if the
// settings say where that is and an address can be copied to a shell as it is.
func adding(set *settings.Settings, id string) string {
	_, market, _ := strings.Cut(id, "@")
	var said struct {
		Source struct{ Repo, URL, Path string }
	}
	v, ok := set.Lookup("extraKnownMarketplaces", market)
	if !ok || json.Unmarshal(v.JSON, &said) != nil {
		return ""
	}
	if address := cmp.Or(said.Source.Repo, said.Source.URL, said.Source.Path); plainAddress.MatchString(address) {
		return "haft plugin marketplace add " + address + " && "
	}
	return ""
}

var plainAddress = lazyregexp.New(`^[A-Za-z0-9./][A-Za-z0-9@:/._+-]*$`)

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

// Results keeps long results where the user and the model can find them afterwards,
// for a month and as long as there is room.
func (p *Project) Results() *output.Store { return p.Kept.store }

// LanguageServers are those that the settings add. A project cannot name programs here:
// see package trust.
func (p *Project) LanguageServers() ([]lsp.Definition, error) {
	var defs []lsp.Definition
	if p.Options.Safe {
		return nil, nil
	}
	for _, n := range p.Counts.LanguageServers() {
		var set struct {
			Command   string            `json:"command"`
			Args      []string          `json:"args"`
			Languages map[string]string `json:"extensionToLanguage"`
			Env       map[string]string `json:"env"`
			Options   json.RawMessage   `json:"initializationOptions"`
			Settings  json.RawMessage   `json:"settings"`
			Startup   int64             `json:"startupTimeout"`
		}
		if err := json.Unmarshal(n.JSON, &set); err != nil {
			return nil, fmt.Errorf("%s: the language server %s: %w", n.Origin, n.Name, err)
		}
		if set.Command == "" || len(set.Languages) == 0 {
			return nil, fmt.Errorf(`%s: the language server %s needs a command and extensionToLanguage, such as {".lua": "lua"}`, n.Origin, n.Name)
		}
		d := lsp.Definition{
			Name: n.Name, Programs: []string{set.Command}, Args: set.Args, Languages: map[string]string{}, Install: "the instructions of " + set.Command,
			Options: set.Options, Settings: set.Settings, Startup: time.Duration(set.Startup) * time.Millisecond,
		}
		for ending, language := range set.Languages {
			d.Languages["."+strings.ToLower(strings.TrimPrefix(ending, "."))] = language
		}
		for name, value := range set.Env {
			d.Env = append(d.Env, name+"="+value)
		}
		slices.Sort(d.Env)
		defs = append(defs, d)
	}
	return defs, nil
}

// FindLead finds the agent that leads conversations here, by the options or by the
// setting "agent": its prompt, tools and model take the place of haft's own. Tools
// that were named when haft was started stay.
func (p *Project) FindLead() (*agentdef.Definition, error) {
	name := p.Options.Agent
	if set, ok := p.Counts.Text("agent"); ok && name == "" {
		name = set.Text
	}
	if name == "" {
		return nil, nil
	}
	d, err := p.Leader(name)
	if err != nil {
		err = fmt.Errorf("could not start with the agent %q: %w", name, err)
	}
	if err != nil && p.Options.Agent != "" {
		return nil, &UsageError{err}
	}
	return d, err
}

// Leader is the agent of a name, fit to lead.
func (p *Project) Leader(name string) (*agentdef.Definition, error) {
	d, err := p.Library.Agents.Find(name)
	if err != nil {
		return nil, err
	}
	for _, r := range Denials(&d) {
		if err := r.Check(); err != nil {
			return nil, fmt.Errorf("its deny rule %q is invalid: %w", r.Text, err)
		}
	}
	return &d, nil
}

// Only are the tools of the pool; nil means all.
func (p *Project) Only(lead *agentdef.Definition) []string {
	switch {
	case p.Options.Bare || p.Options.Tools == nil && isSet(os.Getenv("CLAUDE_CODE_SIMPLE")):
		return builtin.Bare()
	case p.Options.Tools == nil && lead != nil:
		return lead.Tools
	}
	return p.Options.Tools
}

// isSet reports whether a variable of the environment switches something on.
func isSet(value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}

// Elsewhere is what models are told about the machine where their tools run; "" if that is
// this one.
func (p *Project) Elsewhere() string {
	if p.Options.ToolHost == nil {
		return ""
	}
	return p.Options.ToolHost.Facts()
}

// enabling are the settings that enable and disable plugins. What a project says counts if
// the user trusts it, which is found out before its plugins are.
func (p *Project) enabling() (*settings.Settings, error) {
	for _, f := range p.Settings.Files() {
		if _, ok := f.Value("enabledPlugins"); ok && f.Source.InProject() {
			err := p.filter()
			return p.Counts, err
		}
	}
	return p.Settings, nil
}

// Check reads every file of the library once, and returns what is wrong with them and what
// of the project nobody has trusted as it is.
func (p *Project) Check() (faults []knowledge.Problem, held []trust.Held) {
	l := p.Library
	skills := l.Skills.List()
	commands, agents, styles, tools := l.Commands.Beside(skills.Skills), l.Agents.List(), l.Styles.List(), l.Tools.List()
	faults = slices.Concat(l.Problems, skills.Problems, commands.Problems, agents.Problems, styles.Problems, tools.Problems)
	if p.Folder == nil {
		return faults, nil
	}
	for _, c := range slices.Concat(skills.Held, commands.Held, agents.Held, styles.Held, tools.Held) {
		held = append(held, trust.Held{Item: p.Folder.Claim(c)})
	}
	return faults, held
}

// Style returns the output style that is set. An error says that it cannot be used: then it
// has no text, and the name by which it was chosen.
func (p *Project) Style() (style.Style, error) {
	chosen := style.Default
	if v, ok := p.Counts.Lookup("outputStyle"); ok {
		if err := json.Unmarshal(v.JSON, &chosen); err != nil {
			return style.Style{Name: style.Default}, fmt.Errorf("%s: outputStyle is not a string", v.Origin)
		}
	}
	if strings.EqualFold(chosen, style.Default) || chosen == "" {
		return style.Style{Name: style.Default}, nil // no file is read for it
	}
	st, err := p.Library.Styles.Find(chosen)
	if err != nil {
		st.Name = chosen
	}
	return st, err
}

// agreed reports whether a user trusts what a project brings, as it is now.
func (p *Project) agreed(c knowledge.Claim) bool {
	return p.Options.Vouched || p.Options.TrustProject || p.Folder != nil && p.Folder.Agreed(c)
}

// MayInclude reports whether a user trusts a project's instructions to include a
// file from outside of it.
func (p *Project) MayInclude(from, path string) bool {
	if p.Folder == nil || p.Options.TrustProject {
		return p.Options.TrustProject
	}
	ok, err := p.Folder.Trusted(p.Folder.Outside(from, path))
	return err == nil && ok
}

// Items returns everything of the project that counts only if it is trusted: what
// its settings ask for, its skills, commands and agents, and what its instructions
// include from outside.
func (p *Project) Items() []trust.Item {
	items := p.Folder.Items(p.Settings)
	for _, kind := range claims {
		knowledge.NewLibrary(kind, p.Library.ours, func(c knowledge.Claim) bool {
			items = append(items, p.Folder.Claim(c))
			return false
		}).List()
	}
	instructions.Load(p.Guard.Cwd(), p.Home, &instructions.Options{Root: p.Dir, Shared: p.Shared(), Sources: p.Options.Sources, Excludes: p.InstructionExcludes(), Trusted: func(from, path string) bool {
		items = append(items, p.Folder.Outside(from, path))
		return false
	}})
	return items
}

// InstructionExcludes are the patterns of files with instructions that the settings leave
// out.
func (p *Project) InstructionExcludes() []string {
	var patterns []string
	for _, t := range p.Counts.InstructionExcludes() {
		patterns = append(patterns, t.Text)
	}
	return patterns
}

// HeldClaims returns the skills, commands, agents and output styles of the project that
// nobody has trusted as they are.
func (p *Project) HeldClaims() []trust.Held {
	_, held := p.Check()
	return held
}

// Limits are what the settings say.
func (p *Project) Limits() Limits {
	// The settings have checked what is a whole number; 0 is what is not set.
	number := func(path ...string) (n int) {
		v, ok := p.Counts.Lookup(path...)
		if !ok || json.Unmarshal(v.JSON, &n) != nil {
			return 0
		}
		return n
	}
	seconds := func(path ...string) time.Duration { return time.Duration(number(path...)) * time.Second }
	l := Limits{
		Agents: AgentLimits{
			Running: number("agents", "maxRunning"), Depth: cmp.Or(number("agents", "maxDepth"), defaultDepth), Tokens: number("agents", "maxTokens"),
			First: seconds("agents", "firstTokenSeconds"), Idle: seconds("agents", "idleSeconds"),
		},
		Repeats: sched.RepeatLimits{Nudge: number("calls", "sameResults", "warn"), Stop: number("calls", "sameResults", "stop")},
	}
	is := func(want bool, path ...string) (yes bool) {
		v, ok := p.Counts.Lookup(path...)
		return ok && json.Unmarshal(v.JSON, &yes) == nil && yes == want
	}
	l.Agents.Wait, l.Agents.Dirs = is(false, "agents", "background"), is(true, "agents", "cwd")
	if set, _ := p.Counts.Text("calls", "afterFailure"); set.Text == "cancel" {
		l.AfterFailure = sched.CancelSiblings
	}
	var percent float64
	if v, ok := p.Counts.Lookup("mcp", "deferPercent"); ok && json.Unmarshal(v.JSON, &percent) == nil && percent >= 0 {
		l.DeferPercent = &percent
	}
	return l
}

// TodoTools is which tools keep the list of work, by "todoTools"; "" leaves it open.
func (p *Project) TodoTools() string {
	if set, _ := p.Counts.Text("todoTools"); set.Text != "auto" {
		return set.Text
	}
	return ""
}

// impose adds settings of whoever drives the session, as an administrator's. They
// do not count beside those of a real one.
func (p *Project) impose(text string) error {
	if text == "" {
		return nil
	}
	for _, f := range p.Settings.Files() {
		if f.Source == settings.Managed {
			return nil
		}
	}
	whole, err := settings.Parse(settings.Managed, "", []byte(text))
	if err != nil {
		return fmt.Errorf("--managed-settings: %w", err)
	}
	kept := make(map[string]any)
	for _, path := range restricting {
		value, ok := whole.Value(path...)
		if !ok {
			continue
		}
		at := kept
		for _, key := range path[:len(path)-1] {
			inner, ok := at[key].(map[string]any)
			if !ok {
				inner = make(map[string]any)
				at[key] = inner
			}
			at = inner
		}
		at[path[len(path)-1]] = value.JSON
	}
	raw, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	f, err := settings.Parse(settings.Managed, "", raw)
	if err == nil {
		p.Settings = p.Settings.With(f)
	}
	return err
}

// ModelEnv reads what the settings say about it.
func (p *Project) ModelEnv() *ModelEnv {
	helper, _ := p.Counts.Text("apiKeyHelper")
	e := &ModelEnv{Helper: &KeyHelper{Command: helper.Text}, set: map[string]string{}}
	for _, v := range p.Counts.Env() {
		if !v.Source.InProject() {
			e.set[v.Name] = v.Text.Text
		}
	}
	return e
}

// RefusesRoot reports whether this process runs as root and nobody has said that this
// is meant.
func (p *Project) RefusesRoot() bool {
	return os.Geteuid() == 0 && os.Getenv("IS_SANDBOX") != "1" && !p.Options.AsRoot
}

// MayBypass reports whether the user who started the session lets it ask nobody.
func (p *Project) MayBypass() bool {
	return p.Options.MayBypass || p.Options.Mode == string(permission.Bypass)
}

// Forget takes a rule out of the settings of a source: out of the file that it is from, if it
// says so.
func (p *Project) Forget(ctx context.Context, source settings.Source, r permission.Rule) error {
	target, err := p.Target(source)
	if err != nil {
		return err
	}
	if r.Origin.File != "" {
		target.Path = r.Origin.File
	}
	return settings.RemoveRule(ctx, target, r.Behavior, r.Text)
}

// Keep writes a rule into the settings of a source. Who chose it trusts it.
func (p *Project) Keep(ctx context.Context, source settings.Source, r permission.Rule) error {
	if err := r.Check(); err != nil {
		return err
	}
	target, err := p.Target(source)
	if err != nil {
		return err
	}
	if err := settings.AddRule(ctx, target, r.Behavior, r.Text); err != nil {
		return err
	}
	if source == settings.Local {
		_ = Untracked(target.Path) // the rule counts whether git ignores the file or not
	}
	if p.Folder != nil && source.InProject() {
		return p.Folder.Grant(ctx, p.Folder.Rule(r.Text))
	}
	return nil
}

// Preview is what the user has asked for, or the settings say; "" if neither does.
func (p *Project) Preview() PreviewMode {
	if p.Options.Preview != "" {
		return p.Options.Preview
	}
	text, _ := p.Counts.Text("preview")
	mode, err := parsePreview(text.Text)
	if err != nil {
		return "" // which is a problem of the settings, and reported
	}
	return mode
}

// parsePreview reads a mode; "" leaves it to who can be asked.
func parsePreview(s string) (PreviewMode, error) {
	switch m := PreviewMode(s); m {
	case "", PreviewOff, PreviewAsk, PreviewAuto:
		return m, nil
	}
	return "", fmt.Errorf("unknown preview mode %q: use off, ask or auto", s)
}

// runs are the files and folders that haft, git and what they start will run in a session
// with these folders: the settings, the environment or git name them.
func (p *Project) runs(roots []string) []guard.Run {
	var list runList
	list.add("a hook runs this file", guard.Itself, p.Hooks.Files...)
	if servers, err := p.Servers(); err == nil { // those that cannot be read are not started
		for i := range servers.List {
			if raw, err := json.Marshal(&servers.List[i]); err == nil {
				list.add("the MCP server "+servers.List[i].Name+" runs or reads this file", guard.Itself, p.Hooks.named(raw)...)
			}
		}
	}
	for _, key := range helperKeys {
		if value, ok := p.Counts.Lookup(key); ok {
			list.add("the setting "+key+" names this file to be run", guard.Itself, p.Hooks.named(value.JSON)...)
		}
	}
	environ := p.environ()
	list.addEnvironment(environ, p.Dir)
	for _, root := range roots {
		list.addPath(environ, root)
		for _, name := range shell.GitNames(&shell.Options{Cwd: root, Home: p.Home, FS: shell.OS{}, Environ: environ}) {
			reach := guard.Itself
			if name.Folder {
				reach = guard.Tree
			}
			list.add("git's setting "+name.Key+" names it to be run or read", reach, name.Path)
		}
	}
	return list
}

// FileRunBy returns a file of the folders that starting a server would run; "" if it is not
// known to run any.
func (p *Project) FileRunBy(s *mcp.Server) string {
	raw, err := json.Marshal(s)
	if err != nil || p.Hooks.binding == nil {
		return ""
	}
	for _, path := range p.Hooks.binding.Runs(raw) {
		if p.Guard.Look(path).Root != "" {
			return path
		}
	}
	return ""
}

// environ is that of this process, with what the settings add.
func (p *Project) environ() []string {
	environ := os.Environ()
	for _, v := range p.Counts.Env() {
		environ = append(environ, v.Name+"="+v.Text.Text)
	}
	return environ
}

// Servers reads which MCP servers are set up.
func (p *Project) Servers() (_ *Servers, err error) {
	m := &Servers{Project: p, pending: make(map[string]bool)}
	if m.Rules, err = mcpPolicy(p.Settings); err != nil {
		return nil, err
	}
	m.List, m.Warnings = config.Servers(m.entries(), nil)
	if len(m.List) > 0 {
		m.Warnings = append(m.Warnings, BoundServers(new(mcp.Options))...)
	}
	off := disabledServers(p.Settings)
	for i := range m.List {
		if m.List[i].Scope == settings.Project.String() && slices.Contains(off, m.List[i].Name) {
			m.List[i].Disabled = true
		}
	}
	return m, nil
}

// disabledServers are the project's servers that were switched off.
func disabledServers(s *settings.Settings) []string {
	var names []string
	for _, v := range s.All("disabledMcpjsonServers") {
		var list []string
		if json.Unmarshal(v.JSON, &list) == nil {
			names = append(names, list...)
		}
	}
	return names
}

// mcpPolicy is what the administrator says about servers.
func mcpPolicy(s *settings.Settings) (*config.Policy, error) {
	policy := new(config.Policy)
	for key, into := range map[string]*[]config.Match{"allowedMcpServers": &policy.Allowed, "deniedMcpServers": &policy.Denied} {
		for _, v := range s.All(key) {
			if v.Source != settings.Managed && key == "allowedMcpServers" {
				continue // others may tighten, not loosen
			}
			list, err := config.ReadMatches(v.JSON)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", v.Origin, err)
			}
			*into = append(*into, list...)
			if *into == nil {
				*into = []config.Match{} // an empty list is not no list
			}
		}
	}
	return policy, nil
}

// Approval returns the trust item of a server that a source of the project defines; nil if
// there is none. The name alone is not enough: another source may define another server.
func (p *Project) Approval(name string, source settings.Source) *trust.Item {
	if p.Folder == nil {
		return nil
	}
	for _, item := range p.Folder.Items(p.Settings) {
		if item.Kind == trust.Server && item.Name == name && item.Origin.Source == source {
			return &item
		}
	}
	return nil
}

// Shell reads what the settings say about commands.
func (p *Project) Shell() *Shell {
	s := &Shell{Environ: p.environ(), Pass: []string{"CLAUDE_CODE_ENTRYPOINT"}}
	for _, v := range p.Counts.Env() {
		s.Pass = append(s.Pass, v.Name)
	}
	for _, name := range p.Counts.PassEnv() {
		s.Pass = append(s.Pass, name.Text)
	}
	return s
}

// filter leaves out what the user has not agreed to. Where that cannot be known,
// nothing of the project counts but what makes haft more careful.
func (p *Project) filter() error {
	var err error
	if p.Folder, err = p.trusting(); err != nil || p.Folder == nil {
		p.Counts = trust.Without(p.Settings)
		if err == nil && p.Home == "" {
			p.Held, err = p.heldGuards()
		}
		return err
	}
	all := trust.Without(p.Settings).Flag("enableAllProjectMcpServers") // by the user's own word
	p.Folder.Lend(slices.DeleteFunc(p.Folder.Items(p.Settings), func(i trust.Item) bool {
		return !p.lends(i.Kind) && !(all && i.Kind == trust.Server && filepath.Base(i.Origin.File) == ".mcp.json")
	})...)
	p.Counts, p.Held, err = p.Folder.Filter(p.Settings)
	if p.Options.IgnoreProjectHooks || p.hooksOff() {
		for i := range p.Held {
			p.Held[i].Guards = false // the user has decided to do without
		}
	}
	return err
}

// heldGuards are the hooks that guard the project and are left out because there is
// nowhere to keep trust.
func (p *Project) heldGuards() ([]trust.Held, error) {
	folder, err := trust.NewStore("").Folder(p.Dir)
	if err != nil || p.Options.IgnoreProjectHooks || p.hooksOff() {
		return nil, err
	}
	_, held, err := folder.Filter(p.Settings)
	return slices.DeleteFunc(held, func(h trust.Held) bool { return !h.Guards }), err
}

// trusting returns the project as the place that trust belongs to; nil if there is
// nowhere to keep trust and nobody trusts it for this session.
func (p *Project) trusting() (*trust.Folder, error) {
	store := p.Options.Trust
	if store == nil {
		path, _ := trust.DefaultPath() // without one there is nowhere to keep it
		store = trust.NewStore(path)
		if path == "" && !p.lends(trust.Hook) {
			return nil, nil
		}
	}
	folder, err := store.Folder(p.Dir)
	if errors.Is(err, trust.ErrInside) { // a home folder
		p.Own = true
		if !p.lends(trust.Hook) {
			return nil, nil
		}
		return trust.NewStore("").Folder(p.Dir)
	}
	return folder, err
}

// lends reports whether items of a kind are trusted for this session as they are now:
// all of them, or what a program has asked for.
func (p *Project) lends(kind trust.Kind) bool {
	return p.Options.TrustProject || p.Options.Vouched && kind == trust.Hook
}

// guarded refuses to run anything without hooks of the project that guard something:
// the project relies on them, and nobody has decided to do without.
func (p *Project) guarded() error {
	if p.Options.AsksTrust {
		return nil
	}
	if u := trust.NewUnguarded(p.Dir, p.Held); u != nil {
		return &UsageError{u}
	}
	return nil
}

// hooksOff reports whether the user or an administrator has turned hooks of projects
// off.
func (p *Project) hooksOff() bool {
	return p.Counts.Flag("disableAllHooks") || p.Counts.ManagedFlag("disableAllHooks") || p.Counts.ManagedFlag("allowManagedHooksOnly")
}

// Unused returns the names of Claude Code's variables that are set and have no effect.
func (p *Project) Unused() []string {
	set := make(map[string]bool)
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		set[name] = Foreign(name)
	}
	for _, v := range p.Counts.Env() {
		set[v.Name] = Foreign(v.Name)
	}
	for _, v := range Variables() {
		delete(set, v.Name)
	}
	maps.DeleteFunc(set, func(_ string, foreign bool) bool { return !foreign })
	return slices.Sorted(maps.Keys(set))
}

// WithoutEffect says which of Claude Code's settings and variables are set and have no effect,
// each once for this user; "" if the user knows about all of them.
func (p *Project) WithoutEffect() string {
	names := p.Unused()
	for _, problem := range p.Settings.Problems() {
		if problem.Kind == settings.Idle {
			names = append(names, problem.Key)
		}
	}
	file := filepath.Join(workspace.StateDir(), "without-effect")
	old, _ := regular.Read(file, maxTold) // none were named before
	told := strings.Fields(string(old))
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(told, name) })
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return ""
	}
	text := strings.Join(append(told, names...), "\n") + "\n"
	if os.MkdirAll(filepath.Dir(file), 0o700) == nil && len(text) <= maxTold {
		_ = os.WriteFile(file, []byte(text), 0o600) // otherwise they are named again
	}
	return fmt.Sprintf("These settings and variables of Claude Code have no effect in haft: %s. haft doctor lists them.", strings.Join(names, ", "))
}

// Warn tells of settings files, and values in them, that do not count.
func (p *Project) Warn(w io.Writer) {
	for _, text := range p.SettingsFaults() {
		fmt.Fprintf(w, "warning: %s\n", visible.Indented(text))
	}
}

// SettingsFaults are the problems that make settings count for less than is
// written. Keys that mean nothing to haft are left to the doctor: files are shared
// with other programs.
func (p *Project) SettingsFaults() []string {
	var texts []string
	for _, problem := range p.Settings.Problems() {
		switch problem.Kind {
		case settings.Skipped:
			texts = append(texts, problem.String()+"; the whole file is ignored")
		case settings.Ignored:
			texts = append(texts, problem.String())
		}
	}
	return texts
}

// Intact refuses to let anything run without what settings files deny: who has
// written rules and guards relies on them, whichever file they are in, and a file that
// cannot be read may hold some. A caller that runs tools without a conversation asks; a
// conversation does not begin otherwise. Nor are hooks of a project that guard something
// left out unless the user has decided that, nor does root begin to ask nobody.
func (p *Project) Intact() error {
	if err := p.unreadable(); err != nil {
		return err
	}
	if _, off := p.Counts.Disabled(string(permission.Bypass)); !off && p.askedMode().Text == string(permission.Bypass) && p.RefusesRoot() {
		return &UsageError{ErrRoot}
	}
	return p.guarded()
}

// unreadable finds the settings files that cannot be used.
func (p *Project) unreadable() error {
	var bad *UnreadableError
	rest := []settings.Source{settings.User, settings.Project, settings.Local}
	for _, problem := range p.Settings.Problems() {
		if problem.Kind != settings.Skipped || !problem.LosesRules() {
			continue
		}
		rest = slices.DeleteFunc(rest, func(s settings.Source) bool { return s == problem.Source })
		if bad == nil || problem.Source == settings.User {
			bad = &UnreadableError{Problem: problem}
		}
	}
	if bad == nil {
		return nil
	}
	bad.Rest = rest
	return bad
}

// ModeFault says that the mode that was asked for is switched off by settings; "" if it
// is not. Who typed it was refused before.
func (p *Project) ModeFault() string {
	mode := p.askedMode()
	by, off := p.Counts.Disabled(mode.Text)
	if !off {
		return ""
	}
	return fmt.Sprintf("%s: the permission mode %s is disabled by %s; the session uses the mode %s", mode.Origin, mode.Text, by, permission.Default)
}

// Web fetches pages, as far as the settings let it go beyond the public internet.
func (p *Project) Web() (*webpage.Fetcher, error) {
	opts := &webpage.Options{Proxy: http.ProxyFromEnvironment}
	for _, host := range p.Counts.PrivateHosts() {
		opts.Private = append(opts.Private, host.Text)
	}
	web, err := webpage.New(opts)
	if err != nil {
		return nil, fmt.Errorf("webFetch.allowPrivate in the settings: %w", err)
	}
	return web, nil
}

// SearchWeb asks the search server that the settings name; nil if they name none.
func (p *Project) SearchWeb() (websearch.Backend, error) {
	endpoint, ok := p.Counts.Text("webSearch", "endpoint")
	if !ok {
		return nil, nil
	}
	server, err := searxng.New(endpoint.Text, &searxng.Options{Proxy: http.ProxyFromEnvironment})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", endpoint.Origin, err)
	}
	return func(ctx context.Context, q websearch.Query) ([]websearch.Hit, error) {
		found, err := server.Search(ctx, q.Text)
		var hits []websearch.Hit
		for _, h := range found {
			hits = append(hits, websearch.Hit(h))
		}
		return hits, err
	}, nil
}

// WireLog returns the log of what is said to MCP servers; nil unless the settings ask
// for it. Find tells what is configured for a server, of which nothing secret may be
// written.
func (p *Project) WireLog(find func(server string) (mcp.Server, bool)) *wirelog.Log {
	if !p.Counts.Flag("mcp", "log") {
		return nil
	}
	return wirelog.New(WireLogs(), &wirelog.Options{Secrets: func(name string) []string {
		s, _ := find(name)
		return slices.Concat(slices.Collect(maps.Values(s.Env)), slices.Collect(maps.Values(s.Headers)))
	}})
}

// Package doctor looks at everything that a conversation in a project would use, and says
// what is wrong and how to fix it. It starts nothing of the project and asks nobody.
package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/audit"
	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/models/provider"
	"github.com/haftdev/haft/internal/sys/loopback"
	"github.com/haftdev/haft/internal/sys/platform"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/search"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A Diagnosis is what is set up for a project and what is wrong with it.
type Diagnosis struct {
	Version  string  `json:"version"`
	Project  string  `json:"project"`
	Checks   []Check `json:"checks"`
	Broken   int     `json:"broken"`
	Warnings int     `json:"warnings"`
	// Next is what to do now; "" before [Diagnosis.Conclude].
	Next string `json:"next"`

	words   *lang.Catalogue
	noModel bool // none is configured, so haft asks for one
}

// A Check is one thing that was looked at.
type Check struct {
	Area   string `json:"area"`
	Level  string `json:"level"` // ok, warning or error
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"`
}

// t is a sentence of the diagnosis in its language.
func (d *Diagnosis) t(text lang.Text, args ...any) string { return d.words.T(text, args...) }

// OK notes what is as it should be.
func (d *Diagnosis) OK(area, text string) {
	d.Checks = append(d.Checks, Check{area, "ok", text, ""})
}

// Warn notes what a user should know, with what to do about it.
func (d *Diagnosis) Warn(area, text, advice string) {
	d.Checks = append(d.Checks, Check{area, "warning", text, advice})
	d.Warnings++
}

// Bad notes what is broken, with how to fix it.
func (d *Diagnosis) Bad(area, text, advice string) {
	d.Checks = append(d.Checks, Check{area, "error", text, advice})
	d.Broken++
}

// Options say what to look at. Nil means all zero values.
type Options struct {
	// Version is that of the program.
	Version string
	// Model is the model to check; "" means the configured one.
	Model string
	// NoServers leaves MCP servers to the caller, who starts them.
	NoServers bool
	// Lang is the language of the sentences; nil is English. What lower layers report, such
	// as an error, stays as it is.
	Lang *lang.Catalogue
}

// Diagnose looks at everything that a conversation here would use. It starts
// nothing of the project, only what would confine commands, and asks nobody.
func Diagnose(p *project.Project, opts *Options) *Diagnosis {
	var o Options
	if opts != nil {
		o = *opts
	}
	d := &Diagnosis{Version: o.Version, Project: p.Dir, words: o.Lang}
	d.model(p, o.Model)
	d.settings(p)
	d.policy(p)
	d.sandbox(p)
	d.trust(p)
	d.hooks(p)
	if !o.NoServers {
		d.servers(p)
	}
	d.folders()
	d.programs()
	d.system(runtime.GOOS)
	d.kernel()
	return d
}

var levelMarks = map[string]string{"ok": "✓", "warning": "!", "error": "✗"}

// Text is the diagnosis for people.
func (d *Diagnosis) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", d.t("haft %s in %s", d.Version, visible.Indented(d.Project)))
	for _, c := range d.Checks {
		fmt.Fprintf(&b, "%s %s: %s\n", levelMarks[c.Level], d.area(c.Area), visible.Indented(c.Text))
		for line := range strings.Lines(c.Advice) { // one suggestion per line
			fmt.Fprintf(&b, "  → %s\n", visible.Text(strings.TrimSpace(line)))
		}
	}
	if d.Next != "" {
		fmt.Fprintf(&b, "\n%s\n", d.t("Next: %s", d.Next))
	}
	return b.String()
}

// area is what a check is about, in the language of the diagnosis.
func (d *Diagnosis) area(name string) string {
	for _, a := range []lang.Text{"model", "settings", "knowledge", "permissions", "sandbox", "trust", "hooks", "mcp", "sessions", "cache", "search", "programs", "system", "kernel"} {
		if string(a) == name {
			return d.t(a)
		}
	}
	return name
}

// Failed is the error of a diagnosis that found something broken, by the areas that are; nil
// if nothing is.
func (d *Diagnosis) Failed() error {
	var areas []string
	for _, c := range d.Checks {
		if c.Level == "error" {
			areas = append(areas, d.area(c.Area))
		}
	}
	if len(areas) == 0 {
		return nil
	}
	n := d.words.Count(len(areas), "check")
	slices.Sort(areas)
	return errors.New(d.t("%s failed: %s. Follow the advice (→) under each ✗, then run haft doctor again", n, strings.Join(slices.Compact(areas), ", ")))
}

// Conclude says what to do now. The first thing that keeps a conversation from starting comes first.
func (d *Diagnosis) Conclude() {
	switch {
	case d.noModel:
		d.Next = d.t("run haft; it asks you which model to use and tests it. To see haft work without a model, run: haft demo")
	case d.Broken > 0:
		d.Next = d.t("fix what is marked ✗, then run haft doctor again")
	case slices.ContainsFunc(d.Checks, func(c Check) bool { return strings.Contains(c.Advice, "haft trust") }):
		d.Next = d.t("review what the project asks for with: haft trust. Then run haft to start a conversation")
	default:
		d.Next = d.t("run haft to start a conversation. 'haft help first-hour' shows what to try")
	}
}

// model says who answers and where the key is from, never the key.
func (d *Diagnosis) model(p *project.Project, chosen string) {
	set, _ := p.Counts.Text("model")
	env := p.ModelEnv()
	_, info, err := provider.Open(&provider.Options{Model: cmp.Or(chosen, set.Text), Getenv: env.WithKey(func() string { return env.Helper.Command })})
	if errors.Is(err, provider.ErrNotConfigured) {
		text, advice, _ := strings.Cut(err.Error(), "\n")
		var ways []string
		for line := range strings.Lines(advice) {
			ways = append(ways, d.words.Sentence(strings.TrimPrefix(strings.TrimSpace(line), "- ")))
		}
		d.noModel = true
		d.Bad("model", d.words.Sentence(text), strings.Join(ways, "\n"))
		return
	} else if err != nil {
		d.Bad("model", err.Error(), "")
		return
	}
	key := d.t("with the key in %s", info.KeySource)
	switch {
	case info.KeySource == "none":
		key = d.t("without a key")
	case info.KeySource == project.KeyVariable && env.Get(project.KeyVariable) == "":
		key = d.t("with the key that apiKeyHelper prints")
	}
	d.OK("model", d.t("%s by %s at %s, %s", info.Model, info.Provider, project.ShownURL(info.Server), key))
	if u, err := url.Parse(info.Server); err == nil && u.Scheme == "http" && info.KeySource != "none" && !loopback.Host(u.Hostname()) {
		d.Warn("model", d.t("the API key and the whole conversation are sent to %s unencrypted", u.Host), d.t("use an https address"))
	}
}

func (d *Diagnosis) settings(p *project.Project) {
	var names []string
	for _, file := range p.Settings.Files() {
		if slices.ContainsFunc(p.Settings.Problems(), func(found settings.Problem) bool {
			return found.Kind == settings.Skipped && found.File == file.Path
		}) {
			continue // it is reported below
		}
		names = append(names, fmt.Sprintf("%s (%s)", file.Path, file.Source))
	}
	if len(p.Settings.Files()) == 0 {
		names = []string{d.t("there are none")}
	}
	if len(names) > 0 {
		d.OK("settings", strings.Join(names, ", "))
	}
	idle := p.Unused()
	for _, problem := range p.Settings.Problems() {
		switch problem.Kind {
		case settings.Skipped:
			fix := d.t("fix the file")
			if problem.LosesRules() {
				fix = d.t("fix the file: no session starts with it, because its deny rules would not apply")
			}
			d.Bad("settings", d.t("%s; the whole file is ignored", problem), fix)
		case settings.Idle:
			idle = append(idle, problem.Key)
		case settings.Ignored:
			if problem.LosesRules() {
				d.Bad("settings", problem.String(), d.t("fix it: no session starts with it, unless --ignore-bad-rules is given"))
				continue
			}
			d.Warn("settings", problem.String(), "")
		default:
			d.Warn("settings", problem.String(), "")
		}
	}
	if len(idle) > 0 {
		slices.Sort(idle)
		d.OK("settings", d.t("no effect in haft: %s", strings.Join(slices.Compact(idle), ", ")))
	}
	faults, _ := p.Check()
	for _, problem := range faults {
		d.Warn("knowledge", problem.String(), "")
	}
}

// policy says what judges calls.
func (d *Diagnosis) policy(p *project.Project) {
	opts, err := p.Policy()
	if err != nil {
		d.Bad("permissions", err.Error(), "")
	} else {
		if p.BadGuards(opts) == nil {
			d.OK("permissions", d.t("mode %s, %s", opts.Mode, d.words.Count(len(opts.Rules), "rule")))
		}
	}
	for _, r := range opts.Rules {
		if hint := r.Hint(); hint != "" {
			d.OK("permissions", fmt.Sprintf("%s: %s: %s", r.Origin, r.Text, hint))
		}
	}
	for _, problem := range project.RuleProblems(opts) {
		if problem.Rule.Behavior != tool.Allow {
			fix := d.t("fix the rule: no session starts with it, unless --ignore-bad-rules is given")
			if problem.Rule.Origin.Source == settings.Managed {
				fix = d.t("ask your administrator to fix the rule: no session starts with it")
			}
			d.Bad("permissions", problem.String(), fix)
			continue
		}
		d.Warn("permissions", problem.String(), d.t("see which rules apply with: haft permissions list"))
	}
}

// trust says what of the project does not count. Servers that wait are told of with
// the others.
func (d *Diagnosis) trust(p *project.Project) {
	for _, h := range slices.Concat(p.Held, p.HeldClaims()) {
		switch {
		case h.Never != "" && reported(p, h):
		case h.Never != "":
			d.Warn("trust", h.String(), d.t("trust cannot change this: to use it, put it into your own settings"))
		case h.Kind != trust.Server:
			d.Warn("trust", h.String(), d.t("to review and trust what the project asks for, run: haft trust"))
		}
	}
	switch {
	case p.Folder == nil && p.Own:
		d.OK("trust", d.t("this folder holds your own settings, so there is nothing in it to trust"))
	case p.Folder == nil:
		d.Warn("trust", d.t("there is nowhere to save what you trust, so nothing in the project can be trusted"), d.t("set HOME or XDG_CONFIG_HOME"))
	}
}

// hookDays is for how many days failures of hooks are counted.
const hookDays = 7

// hooks counts the hooks that failed in sessions of the project. Where they do not block, a
// warning that scrolled by is easily missed.
func (d *Diagnosis) hooks(p *project.Project) {
	log, err := p.AuditLog()
	if err != nil {
		return
	}
	failed, _ := log.HookFailures(p.Dir, time.Now().AddDate(0, 0, -hookDays)) // those that can be read
	var hooks []audit.Entry
	times := map[string]int{}
	for _, e := range failed {
		key := e.Origin + e.Rule
		if times[key]++; times[key] == 1 {
			hooks = append(hooks, e)
		}
	}
	for _, e := range hooks {
		d.Warn("hooks", d.t("%s: the hook %s failed %s in the last %d days: %s", e.Origin, e.Rule, d.words.Count(times[e.Origin+e.Rule], "time"), hookDays, e.Reason),
			d.t("fix the hook or remove it. 'haft help hooks' says when a hook that fails blocks"))
	}
}

// reported reports whether the problems of the settings say already why something has no
// effect.
func reported(p *project.Project, h trust.Held) bool {
	return slices.ContainsFunc(p.Settings.Problems(), func(problem settings.Problem) bool {
		key := strings.NewReplacer("[", ".", "]", "").Replace(problem.Key)
		return problem.File == h.Origin.File && key != "" && strings.HasPrefix(h.Name+".", key+".")
	})
}

// servers says what is known of MCP servers without starting them.
func (d *Diagnosis) servers(p *project.Project) {
	m, err := p.Servers()
	if err != nil {
		d.Bad("mcp", err.Error(), "")
		return
	}
	for _, w := range m.Warnings {
		d.Warn("mcp", w, "")
	}
	for _, s := range m.List {
		d.server(m, s)
	}
	if len(m.List) == 0 {
		d.OK("mcp", d.t("no servers are set up"))
	}
}

// server says how one is as far as that can be told.
func (d *Diagnosis) server(m *project.Servers, s mcp.Server) {
	verdict := m.Approve(s)
	switch {
	case s.Problem != "":
		d.Bad("mcp", s.Name+": "+s.Problem, d.t("fix it in %s", s.Origin))
	case s.Disabled:
		d.OK("mcp", d.t("%s: switched off", s.Name))
	case verdict.Pending && m.Project.Folder == nil:
		d.Warn("mcp", s.Name+": "+verdict.Reason, "")
	case verdict.Pending:
		d.Warn("mcp", d.t("%s: the project asks for it, and you have not approved it", s.Name), d.t("review and approve it with: haft trust"))
	case !verdict.Allowed:
		d.Warn("mcp", s.Name+": "+cmp.Or(verdict.Reason, d.t("it is not allowed here")), d.t("ask your administrator"))
	default:
		d.OK("mcp", d.t("%s: set up", s.Name))
	}
}

// folders must be there, or be possible to make, and be writable.
func (d *Diagnosis) folders() {
	d.folder("sessions", session.Open("").Dir(), d.t("make it writable, or set another with CLAUDE_CONFIG_DIR; until then use --no-session-persistence"))
	if cache, err := os.UserCacheDir(); err == nil {
		d.folder("cache", filepath.Join(cache, "haft"), d.t("make it writable, or set another with XDG_CACHE_HOME"))
	} else {
		d.Warn("cache", err.Error(), d.t("set HOME or XDG_CACHE_HOME: without it, long results are cut off"))
	}
	d.searchIndexes()
}

// searchIndexes tells how much is kept of the folders that were searched.
func (d *Diagnosis) searchIndexes() {
	saved, err := search.SavedIndexes(project.SearchIndexes())
	if err != nil {
		d.Warn("search", d.t("could not list the search indexes: %s", err), d.t("delete %s: it will be rebuilt", project.SearchIndexes()))
		return
	}
	total := int64(0)
	for _, s := range saved {
		total += s.Bytes
	}
	d.OK("search", d.t("%.1f MB of search indexes (%d) in %s", float64(total)/1e6, len(saved), project.SearchIndexes()))
}

func (d *Diagnosis) folder(area, dir, advice string) {
	there := dir
	for {
		if _, err := os.Stat(there); err == nil || filepath.Dir(there) == there {
			break
		}
		there = filepath.Dir(there)
	}
	probe, err := os.CreateTemp(there, ".haft-doctor-*")
	if err != nil {
		d.Bad(area, d.t("%s cannot be written: %s", dir, err), advice)
		return
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		d.Warn(area, err.Error(), "")
	}
	d.OK(area, dir)
}

// helpers are programs that tools use.
var helpers = []struct {
	name string
	use  lang.Text
	must bool
}{
	{"bash", "the Bash tool needs it to run commands; install bash", true},
	{"git", "worktrees and checkpoints need it; install git", false},
	{"pdftotext", "the Read tool needs it to show the text of PDF pages; install poppler-utils", false},
}

func (d *Diagnosis) programs() {
	var found []string
	for _, h := range helpers {
		switch _, err := exec.LookPath(h.name); {
		case err == nil:
			found = append(found, h.name)
		case h.must:
			d.Bad("programs", d.t("there is no %s", h.name), d.t(h.use))
		default:
			d.Warn("programs", d.t("there is no %s", h.name), d.t(h.use))
		}
	}
	d.OK("programs", strings.Join(found, ", "))
}

// system says what haft lacks on an operating system.
func (d *Diagnosis) system(goos string) {
	limits, supported := platform.Of(goos)
	var lacks []string
	for _, l := range limits {
		lacks = append(lacks, d.t(l))
	}
	switch {
	case !supported:
		d.Warn("system", d.t("%s is not supported: haft is neither built nor tested for it", goos), d.t("'haft help platforms' lists the systems that are"))
	case len(limits) > 0:
		d.Warn("system", d.t("on %s:", goos)+"\n"+strings.Join(lacks, "\n"), d.t("'haft help platforms' compares the systems"))
	default:
		d.OK("system", d.t("%s, fully supported", goos))
	}
}

// fewWatches is less than the folders of a large repository.
const fewWatches = 65536

// kernel tells what of Linux makes a difference.
func (d *Diagnosis) kernel() {
	raw, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	if err != nil {
		return // it is another system
	}
	watches, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err == nil && watches < fewWatches {
		d.Warn("kernel", d.t("only %d inotify watches: each search of a large project checks every file again", watches),
			fmt.Sprintf("sysctl fs.inotify.max_user_watches=%d", 8*fewWatches))
	}
	groups := d.t("cgroups version 2")
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err != nil {
		groups = d.t("no cgroups version 2 at /sys/fs/cgroup: haft uses /proc to find and end the processes of a command")
	}
	d.OK("kernel", d.t("%d inotify watches, %s", watches, groups))
}

// sandbox says what confines commands here, found out by trying, and what would
// make it stronger.
func (d *Diagnosis) sandbox(p *project.Project) {
	set := p.Counts.Sandbox()
	if set.Mode == settings.SandboxOff {
		d.Warn("sandbox", d.t("off: every command runs with your full privileges"), d.t("remove \"mode\": \"off\" from sandbox in the settings"))
		return
	}
	host := shellrun.NewHost(&shellrun.Options{Reexec: p.Options.Reexec, NoProfile: true})
	tier := host.Tier(sandbox.Offline)
	if err := host.Close(); err != nil {
		d.Warn("sandbox", d.t("it could not be stopped: %s", err), "")
	}
	confined := d.t("read-only commands can only read, and other commands run with your full privileges")
	if set.Enabled {
		confined = d.t("read-only commands can only read, and other commands can write only in the project")
	}
	switch tier.Kind {
	case sandbox.TierBox:
		d.OK("sandbox", strings.Join(append([]string{d.t("box: %s; previews work", confined)}, tier.Gaps...), "; "))
	case sandbox.TierLandlock:
		d.Warn("sandbox", d.t("landlock: %s", confined)+". "+tier.Lost(), tier.Help())
	default:
		advice := tier.Help()
		if advice == "" {
			advice = d.t("work in a container, or keep the rules narrow")
		}
		d.Warn("sandbox", d.t("none: commands that are allowed run with your full privileges")+". "+tier.Lost(), advice)
	}
	d.deniedPaths(p)
}

// deniedPaths reports paths in the settings that are not what their author means.
func (d *Diagnosis) deniedPaths(p *project.Project) {
	patterns, missing := p.Boxes.Ineffective()
	for _, t := range patterns {
		d.Warn("sandbox", d.t("%s: %s protects nothing: patterns are not supported in sandbox.filesystem", t.Origin, t.Text), d.t("list the files and folders, one by one"))
	}
	for _, t := range missing {
		d.Warn("sandbox", d.t("%s: the sandbox denies access to %s, which does not exist", t.Origin, t.Text), d.t("correct the path; a path without / or ~/ at the beginning is in the project"))
	}
}

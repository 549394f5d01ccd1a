// Package guard says what a path really is before anything touches it.
//
// Look resolves a path link by link and returns Facts: the physical path, which root holds it, the links it passed, what
// kind of file is there, and whether any of its spellings names something sensitive. Facts.Verdict turns them into the view
// of one operation: allow, ask or deny, with a reason. The guard asks nobody and remembers nothing of the disk; rules, modes and people
// decide with its facts in hand. File tools, search, redirections in Bash and the permission engine share it.
//
//	g, err := guard.New(&guard.Options{Roots: []string{project}, Home: home})
//	f := g.Look("src/../key")
//	v := f.Verdict(guard.Read)
//
// Trust model: the path, every link and every name in the project may be chosen by an attacker. What Look saw can change
// before it is used; open Facts.Real through package disk, which refuses links that appeared since. Bind mounts and hard links
// cannot be seen through; a write to a file with several links is reported. A Guard is immutable and safe for concurrent use.
package guard

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/pathin"
	"github.com/haftdev/haft/internal/secret"
	"github.com/haftdev/haft/internal/workspace/disk"
	"github.com/haftdev/haft/sandbox"
)

// Worktrees is the folder of a repository in which haft makes worktrees: its files are versions of those of the repository.
const Worktrees = ".worktrees"

// Options configures a Guard.
type Options struct {
	// Roots are the project directory and any added ones. At least one.
	Roots []string
	// Home is the user's home directory, for ~ and for the rules about what lies in it. Empty: neither applies.
	Home string
	// Cwd is what relative paths start from. Empty means the first root.
	Cwd string
	// Shared is the user's folder that Claude Code reads too: as AgentDirs, or if the user works below it, its settings
	// ask. Empty: there is none.
	Shared string
	// AgentDirs hold the agent's own user-level settings, trust and logs; no tool writes there. Nil means .claude, .haft,
	// .config/haft and .config/agent under Home.
	AgentDirs []string
	// State is where the workspace keeps what it is writing and what it replaced. No tool writes there, because recovery acts on
	// it, and reading asks, because it holds what any file held. Empty: there is none.
	State string
	// Kept reports whether a physical path is something that the session has kept for its model, such as the whole of a long
	// result. It may be read like a file of the project, and is never written by a tool. Nil: nothing is.
	Kept func(path string) bool
	// PlanFile returns the physical path of the file that the model may write its plan in, with file tools, or "". Nil: there is
	// none.
	PlanFile func() string
	// Tmp tells what lies in the temporary directories of the machine; nil means that nothing is known about them.
	Tmp *sandbox.Tmp
	// Runs are what haft, git and the programs that they start will run. Writing it asks. What is in no root is ignored.
	Runs []Run
	// FS is the file system. Nil means the real one.
	FS disk.FS
}

// Guard looks at paths for one set of roots.
type Guard struct {
	fs    disk.FS
	cwd   string
	home  []string // as given, and physical when that differs
	where secret.Where
	roots []root
	agent []string
	state []string
	runs  []Run
	kept  func(string) bool
	plan  func() string
	tmp   *sandbox.Tmp
	names *names // shared with guards for other directories
}

// root is a directory under both its names.
type root struct{ given, real string }

// New resolves the roots, which must be existing directories.
func New(opts *Options) (*Guard, error) {
	o := *opts
	if o.FS == nil {
		o.FS = disk.OS()
	}
	if len(o.Roots) == 0 {
		return nil, errors.New("guard: no root directory")
	}
	g := &Guard{fs: o.FS, cwd: o.Cwd, kept: o.Kept, plan: o.PlanFile, tmp: o.Tmp, names: &names{}}
	if g.kept == nil {
		g.kept = func(string) bool { return false }
	}
	if g.plan == nil {
		g.plan = func() string { return "" }
	}
	for _, dir := range o.Roots {
		r, err := g.resolveRoot(dir)
		if err != nil {
			return nil, err
		}
		g.roots = append(g.roots, r)
	}
	if g.cwd == "" {
		g.cwd = g.roots[0].given
	}
	if o.Home != "" {
		g.home = bothNames(g.walk(o.Home), o.Home)
		if o.AgentDirs == nil {
			for _, dir := range []string{".claude", ".haft", ".config/haft", ".config/agent"} {
				o.AgentDirs = append(o.AgentDirs, filepath.Join(o.Home, dir))
			}
		}
	}
	if o.Shared != "" {
		file := filepath.Join(o.Shared, "settings.json")
		for _, name := range bothNames(g.walk(file), file) {
			g.runs = append(g.runs, Run{Path: name, Why: whatAgent})
		}
		if !slices.ContainsFunc(g.roots, func(r root) bool { return pathin.Contains(o.Shared, r.given) || pathin.Contains(o.Shared, r.real) }) {
			o.AgentDirs = append(slices.Clone(o.AgentDirs), o.Shared)
		}
	}
	g.where.Homes = g.home
	for _, r := range g.roots {
		g.where.Roots = append(g.where.Roots, r.real, r.given)
	}
	if o.State != "" {
		g.state = bothNames(g.walk(o.State), o.State)
	}
	for _, run := range o.Runs {
		g.addRun(run)
	}
	for _, dir := range o.AgentDirs {
		g.agent = append(g.agent, bothNames(g.walk(dir), dir)...)
	}
	return g, nil
}

func (g *Guard) resolveRoot(dir string) (root, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return root{}, fmt.Errorf("resolve root: %w", err)
	}
	w := g.walk(abs)
	if w.err != nil || !w.info.Mode.IsDir() {
		return root{}, fmt.Errorf("root %s is not a readable directory", dir)
	}
	return root{abs, w.real}, nil
}

func bothNames(w walked, given string) []string {
	given = filepath.Clean(given)
	if w.real == given {
		return []string{given}
	}
	return []string{given, w.real}
}

// At returns the same guard with another directory for relative paths.
func (g *Guard) At(cwd string) *Guard {
	c := *g
	c.cwd = cwd
	return &c
}

// Roots returns the physical paths of the roots, the project first.
func (g *Guard) Roots() []string {
	out := make([]string, len(g.roots))
	for i, r := range g.roots {
		out[i] = r.real
	}
	return out
}

// Cwd returns the directory relative paths start from.
func (g *Guard) Cwd() string { return g.cwd }

// Secret says whether a physical path is a secret, by its name alone, for those who come by many files.
func (g *Guard) Secret(real string) secret.Level { return g.where.Look(real).Level }

// Kept reports whether a physical path is something that the session has kept for its model.
func (g *Guard) Kept(path string) bool { return g.kept(path) }

// Look finds out what a path is. It reads directory entries and links, never content, and never blocks on what it finds.
func (g *Guard) Look(path string) Facts {
	f := Facts{Given: path}
	if f.Malformed = malformed(path); f.Malformed != "" {
		return f
	}
	abs := g.absolute(path)
	f.Relative = !filepath.IsAbs(path) && !isHome(path)
	f.Path = filepath.Clean(abs)
	f.Odd = odd(path)
	w := g.walk(abs)
	f.Real, f.Links, f.Err, f.Info, f.Exists = w.real, w.links, w.err, w.info, w.exists
	if f.Malformed = tooLong(f.Real); f.Malformed != "" {
		return f
	}
	f.Root = g.rootOf(f.Real, false)
	f.Escapes = f.Root == "" && g.rootOf(f.Path, true) != ""
	f.Kept = f.Err == nil && g.kept(f.Real)
	f.Plan = f.Err == nil && f.Real == g.plan()
	if entry := g.tmp.Entry(f.Real); entry != "" && f.Root == "" && !f.Escapes && !slices.ContainsFunc(g.roots, func(r root) bool { return pathin.Contains(entry, r.real) }) {
		f.Temp, f.Scratch = true, g.tmp.Own(f.Real)
	}
	f.special = g.special(f)
	f.Sensitive = g.sensitive(f)
	if len(w.links) > 0 && hasDotDot(abs) && g.walk(f.Path).real != f.Real {
		f.Path = f.Real // the spelling without its .. names another file
	}
	return f
}

func hasDotDot(path string) bool { return slices.Contains(components(path), "..") }

func isHome(path string) bool { return path == "~" || strings.HasPrefix(path, "~/") }

// absolute joins without cleaning: a ".." after a link must be taken where the link leads.
func (g *Guard) absolute(path string) string {
	switch {
	case isHome(path) && len(g.home) > 0:
		return g.home[0] + path[1:]
	case filepath.IsAbs(path):
		return path
	}
	return g.cwd + string(filepath.Separator) + path
}

// rootOf returns the physical root that holds p, also under its given name if spelled is set.
func (g *Guard) rootOf(p string, spelled bool) string {
	for _, r := range g.roots {
		if pathin.Contains(r.real, p) || spelled && pathin.Contains(r.given, p) {
			return r.real
		}
	}
	return ""
}

// special names the kernel interfaces a path touches: per-process files and magic links, devices, and writable knobs.
func (g *Guard) special(f Facts) special {
	worst := special("")
	for _, p := range f.spellings() {
		parts := strings.Split(p, "/")
		switch {
		case len(parts) > 2 && parts[1] == "proc" && (parts[2] == "self" || parts[2] == "thread-self" || digits(parts[2])):
			return processFile
		case pathin.Contains("/dev", p) && !pathin.Contains("/dev/shm", p) && g.rootOf(p, false) == "":
			worst = deviceFile
		case worst == "" && (pathin.Contains("/proc", p) || pathin.Contains("/sys", p)):
			worst = kernelFile
		}
	}
	return worst
}

func digits(s string) bool {
	return s != "" && !slices.ContainsFunc([]byte(s), func(b byte) bool { return b < '0' || b > '9' })
}

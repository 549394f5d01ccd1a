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
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/text/secret"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/workspace/disk"
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

// addRun takes in what is in a root, under both its names.
func (g *Guard) addRun(run Run) {
	names := bothNames(g.walk(run.Path), run.Path)
	if !slices.ContainsFunc(names, func(p string) bool { return g.rootOf(p, true) != "" }) {
		return
	}
	for _, name := range names {
		run.Path = name
		g.runs = append(g.runs, run)
	}
}

// runOf says why a path will run; "" if nothing is known to run it.
func (g *Guard) runOf(p string) string {
	for _, run := range g.runs {
		if run.covers(p) {
			return run.Why
		}
	}
	return ""
}

// Holds says which path in a folder will run, and why; "" if none is known to. Another folder in its
// place would hold other programs.
func (g *Guard) Holds(f Facts) (why string) {
	for _, run := range g.runs {
		if pathin.ContainsFold(f.Path, run.Path) || pathin.ContainsFold(f.Real, run.Path) {
			return run.Path + ": " + run.Why
		}
	}
	return ""
}

const (
	whatState = "haft keeps its record of writes here, and the contents they replaced"
	whatOwn   = "only haft itself may change its own settings, trust and logs"
	whatKept  = "files that the session saved may be read but not changed"
	whatBare  = "the files of an embedded bare repository can run programs"
)

// sensitive judges every spelling of a path and takes the strictest view.
func (g *Guard) sensitive(f Facts) Sensitivity {
	var worst Sensitivity
	take := func(s Sensitivity) {
		if s.Read == Allow && s.Write >= worst.Write {
			worst.Acts = s.What
		} else if s.Write > worst.Write {
			worst.Acts = ""
		}
		if worst.What == "" {
			worst = s
		}
		if s.Write > worst.Write || s.Read > worst.Read {
			worst.What = s.What
		}
		worst.Read, worst.Write, worst.Hard = max(worst.Read, s.Read), max(worst.Write, s.Write), worst.Hard || s.Hard
	}
	for _, p := range f.spellings() {
		n := g.names.of(g, p)
		if n.own {
			take(Sensitivity{What: whatOwn, Read: Allow, Write: Deny, Hard: true})
		}
		if n.state {
			s := Sensitivity{What: whatState, Read: Ask, Write: Deny, Hard: true}
			if f.Kept {
				s.Read = Allow
			}
			take(s)
		}
		if n.run != "" {
			take(Sensitivity{What: n.run, Read: Allow, Write: Ask})
		}
		for _, s := range n.found {
			take(s)
		}
	}
	if f.Kept {
		take(Sensitivity{What: whatKept, Read: Allow, Write: Deny, Hard: true})
	}
	if worst.Write == Allow && f.Root != "" && g.inBareRepository(f) { // .git itself has its own reason
		take(Sensitivity{What: whatBare, Read: Allow, Write: Ask})
	}
	if worst.Acts == worst.What {
		worst.Acts = ""
	}
	return worst
}

// lookUp finds what one spelling names: a secret, which is not written either, and something that acts on whoever uses it.
func (g *Guard) lookUp(p string) (found []Sensitivity) {
	n := g.where.Names(p)
	switch e := n.Look(); e.Level {
	case secret.Closed:
		found = append(found, Sensitivity{What: e.What, Read: Deny, Write: Deny, Hard: true})
	case secret.Guarded:
		found = append(found, Sensitivity{What: e.What, Read: Ask, Write: Ask})
	}
	rules := compiled()
	for i := range rules {
		if rules[i].pattern.Matches(&n) {
			return append(found, rules[i].what)
		}
	}
	return found
}

// matcher is a rule taken apart.
type matcher struct {
	pattern secret.Pattern
	what    Sensitivity
}

// compiled takes the rules apart, once.
var compiled = sync.OnceValue(func() []matcher {
	out := make([]matcher, len(rules))
	for i, r := range rules {
		out[i] = matcher{secret.Parse(r.pattern), Sensitivity{What: r.what, Read: Allow, Write: r.write, Hard: r.hard}}
	}
	return out
})

// inBareRepository reports whether a directory between the root and the path is a repository without a work tree, or would
// become one by what is written: git takes any folder with HEAD, objects and refs for one and does what its config says.
func (g *Guard) inBareRepository(f Facts) bool {
	if filepath.Base(f.Real) == "HEAD" {
		return true // the rest may come in any order
	}
	part := f.Real // in dir
	for dir := filepath.Dir(f.Real); pathin.Contains(f.Root, dir) && dir != f.Root; part, dir = dir, filepath.Dir(dir) {
		head := g.is(filepath.Join(dir, "HEAD"), 0) || g.is(filepath.Join(dir, "HEAD"), fs.ModeSymlink)
		switch filepath.Base(part) {
		case "objects", "refs", "commondir":
			if head {
				return true
			}
		}
		if head && g.isBare(dir) {
			return true
		}
	}
	return false
}

func (g *Guard) isBare(dir string) bool {
	return g.is(filepath.Join(dir, "commondir"), 0) || g.is(filepath.Join(dir, "objects"), fs.ModeDir) && g.is(filepath.Join(dir, "refs"), fs.ModeDir)
}

// InBareRepository reports whether a folder of the project is in a repository without a work tree, whose settings came with
// the project or were written by a tool. The project itself may be one.
func (g *Guard) InBareRepository(dir string) bool {
	f := g.Look(dir)
	f.Real = filepath.Join(f.Real, "x") // something in it
	return f.Root != "" && g.inBareRepository(f)
}

func (g *Guard) is(p string, t fs.FileMode) bool {
	info, err := g.fs.Lstat(p)
	return err == nil && info.Mode.Type() == t
}

// Protected returns the files and folders of the roots whose change can run
// programs or grant permissions, whether they exist or not: for a sandbox, which
// lets no command write them. Those of git are found elsewhere.
func (g *Guard) Protected() []string {
	var paths []string
	for _, run := range g.runs {
		if run.Reach != Entries { // installers put programs there, which run as confined as they do
			paths = append(paths, run.Path)
		}
	}
	for _, r := range g.roots {
		for _, line := range rules {
			name := strings.TrimSuffix(line.pattern, "/**")
			if slices.Contains(takingOver, line.what) && !strings.HasPrefix(name, "~/") && !strings.HasPrefix(name, "/") && !strings.Contains(name, "*") {
				paths = append(paths, filepath.Join(r.real, name))
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// Guarded returns the files and folders of the roots that no tool writes unasked, for a
// sandbox whose commands run unasked: by their names directly in a root, whether they exist or
// not, and those that exist not far below. Installed dependencies are not among them: what they
// run is as confined. Looked are the folders that were looked into.
func (g *Guard) Guarded() (paths, looked []string) {
	var names []string
	for _, line := range rules {
		if line.what != whatRepo && line.what != Dependencies {
			names = append(names, line.pattern)
		}
	}
	for _, pattern := range append(names, secret.GuardedNames()...) {
		name := strings.TrimSuffix(pattern, "/**")
		if strings.HasPrefix(name, "~/") || strings.HasPrefix(name, "/") || strings.HasPrefix(name, ".git/") || strings.Contains(name, "*") {
			continue
		}
		for _, r := range g.roots {
			paths = append(paths, filepath.Join(r.real, name))
		}
	}
	left := mostGuarded
	for _, r := range g.roots {
		below, seen := g.guardedBelow(r.real, 0, &left)
		paths, looked = append(paths, below...), append(looked, seen...)
	}
	slices.Sort(paths)
	return slices.Compact(paths), looked
}

// The bounds of the search for guarded files.
const (
	mostGuarded  = 2000 // entries that are looked at
	guardedDepth = 2
)

func (g *Guard) guardedBelow(dir string, depth int, left *int) (paths, looked []string) {
	entries, err := os.ReadDir(dir)
	if *left -= len(entries); err != nil || *left < 0 {
		return nil, []string{dir}
	}
	looked = []string{dir}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		found := g.lookUp(path)
		asks := slices.ContainsFunc(found, func(s Sensitivity) bool { return s.Write != Allow && s.What != whatRepo && s.What != Dependencies })
		switch {
		case asks:
			paths = append(paths, path)
		case e.IsDir() && depth < guardedDepth && len(found) == 0:
			below, seen := g.guardedBelow(path, depth+1, left)
			paths, looked = append(paths, below...), append(looked, seen...)
		}
	}
	return paths, looked
}

// takingOver are the kinds of files by which a command would run others later.
var takingOver = []string{whatAgent, whatEditor, whatHooks, whatShell}

// walk follows an absolute path component by component, as the kernel would. From the first thing that is missing or cannot
// be looked at, the rest is appended as it stands.
func (g *Guard) walk(path string) walked {
	// A wrapped file system does not have this, and is asked part by part.
	if d, ok := g.fs.(interface {
		Direct(path string) (disk.Info, bool)
	}); ok && filepath.IsAbs(path) && filepath.Clean(path) == path {
		if info, ok := d.Direct(path); ok {
			return walked{real: path, info: info, exists: true}
		}
	}
	w := walked{real: filepath.VolumeName(path) + string(filepath.Separator), exists: true}
	w.info, w.err = g.fs.Lstat(w.real)
	todo := components(path[len(filepath.VolumeName(path)):])
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if name == ".." {
			w.up(g.fs)
			continue
		}
		next := filepath.Join(w.real, name)
		if !w.exists || w.err != nil {
			w.real = next
			continue
		}
		if !w.info.Mode.IsDir() {
			w.real, w.exists = next, false
			w.err = &fs.PathError{Op: "look at", Path: next, Err: syscall.ENOTDIR}
			continue
		}
		todo = append(w.enter(g.fs, next), todo...)
	}
	return w
}

func digits(s string) bool {
	return s != "" && !slices.ContainsFunc([]byte(s), func(b byte) bool { return b < '0' || b > '9' })
}

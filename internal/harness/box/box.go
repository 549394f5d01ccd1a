// Package box says what programs that a project's settings confine may touch: commands,
// MCP servers and hooks.
//
//	spec, seen := boxes.Command(tool.ReadOnly, guard)
//
// It reads settings and looks at folders; the sandbox itself is package sandbox, and who is
// confined is decided by package permission. Boxes are safe for concurrent use.
package box

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/harness/preview"
	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/text/secret"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// Boxes are what confined programs of a project may touch.
type Boxes struct {
	Dir, Home string
	Shared    string             // the user's folder with the sessions of all projects; "" means none
	Counts    *settings.Settings // of which those about the sandbox are read
	Guard     *guard.Guard       // of the session
	Tmp       *sandbox.Tmp       // what the session found in the temporary directories
	Kept      func() []string    // the folders of what the session keeps for its model; nil: none
}

// Confinable refuses a session whose settings demand a sandbox that cannot be
// had: a program that asked for one relies on it. Only then is the tier looked
// for.
func (b *Boxes) Confinable(tier func() sandbox.Tier) error {
	origin, required := b.Counts.SandboxRequired()
	if !required {
		return nil
	}
	t := tier()
	if t.Kind != sandbox.TierNone {
		return nil
	}
	help := "Remove that setting to run commands without a sandbox"
	if h := t.Help(); h != "" {
		help = "This may help: " + h + ". Or remove that setting to run commands without a sandbox"
	}
	return fmt.Errorf("sandbox required but unavailable: %w. It is required in %s. %s", t.Unavailable(), origin, help)
}

// Command says what a command with a confinement may touch in the folders of a guard;
// nil means everything. Seen are folders whose files were looked at for it.
func (b *Boxes) Command(c tool.Confinement, g *guard.Guard) (spec *sandbox.Spec, seen []string) {
	if c != tool.ReadOnly && c != tool.ProjectOnly {
		return nil, nil
	}
	set := b.Counts.Sandbox()
	secrets, seen := secretFiles(b.Home)
	state := workspace.StateDir()
	hidden := slices.Concat(secrets, []string{filepath.Join(state, "blobs"), filepath.Join(state, "writes")}, b.keptContents(), b.deniedPaths(set.DenyRead, g))
	caches, missing := b.caches()
	for _, dir := range missing {
		if above := filepath.Dir(dir); !slices.Contains(seen, above) {
			seen = append(seen, above)
		}
	}
	readable := sandbox.Resolve(b.settingPaths(set.AllowRead)...)
	roots := sandbox.Resolve(g.Roots()...)
	closed, looked := b.closedInHome(roots)
	seen = append(seen, looked...)
	spec = &sandbox.Spec{
		Scratch: sandbox.Resolve(caches...), Deny: sandbox.Resolve(closed...), Caches: preview.AllCaches(b.Home),
		Hide: slices.DeleteFunc(sandbox.Resolve(hidden...), func(path string) bool {
			return slices.Contains(readable, path) || slices.ContainsFunc(closed, func(dir string) bool { return pathin.Contains(dir, path) })
		}),
	}
	if c == tool.ProjectOnly {
		seen = append(seen, gitFolders(roots)...)
		spec.Network, spec.Tmp = sandbox.Proxied, b.Tmp
		spec.Read = sandbox.Resolve(state)
		spec.Write = sandbox.Resolve(slices.Concat(roots, repositories(roots), b.settingPaths(set.AllowWrite))...)
		spec.Protect = sandbox.Resolve(slices.Concat(g.Protected(), gitControls(roots), b.deniedPaths(set.DenyWrite, g))...)
		for _, path := range sandbox.Resolve(gitControls(roots)...) {
			denied := slices.ContainsFunc(sandbox.Resolve(b.deniedPaths(set.DenyWrite, g)...), func(dir string) bool { return pathin.Contains(dir, path) })
			if base := filepath.Base(path); !denied && (base == "config" || base == "config.worktree") {
				spec.Settings = append(spec.Settings, path)
			}
		}
		if !set.Enabled { // the mode has accepted edits, but not these
			guarded, looked := g.Guarded()
			spec.Protect, seen = slices.Concat(spec.Protect, guarded), append(seen, looked...)
		}
		return spec, seen
	}
	spec.KeepSignals, spec.NoSockets = true, true
	spec.Read = sandbox.Resolve(append(roots, state)...)
	// Commands that may write use the temporary directories of the machine: what they leave
	// there is what others read.
	for _, tmp := range sandbox.TmpDirs() {
		spec.Read = slices.DeleteFunc(spec.Read, func(dir string) bool { return strings.HasPrefix(dir, tmp+"/") })
		spec.Read = append([]string{tmp}, spec.Read...)
	}
	return spec, seen
}

// closedInHome lists what is closed to confined commands in the home folder, other projects
// among it, and in haft's own folders: everything but the roots and what programs need to do
// their work. Seen are the folders that were looked at. If the home folder is in the project,
// nothing is closed there.
func (b *Boxes) closedInHome(roots []string) (closed, seen []string) {
	c := closer{kept: b.Kept, open: slices.Clone(roots)}
	for _, root := range roots {
		for dir := root; dir != filepath.Dir(dir); dir = filepath.Dir(dir) { // the work tree is what the project is a part of
			if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
				c.open = append(c.open, dir)
				break
			}
		}
	}
	c.open = slices.Concat(c.open, repositories(roots), b.settingPaths(b.Counts.Sandbox().AllowRead))
	state := workspace.StateDir()
	c.open = append(c.open, filepath.Join(state, "results"))
	home, err := filepath.EvalSymlinks(b.Home)
	if b.Home == "" || err != nil || home == "/" {
		c.walk(state)
		return c.closed, c.seen
	}
	for line := range strings.Lines(openInHome) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			c.open = append(c.open, filepath.Join(home, line))
		}
	}
	c.open = slices.Concat(c.open, namedByEnvironment(home), namedByGit(roots, home))
	if !slices.ContainsFunc(roots, func(root string) bool { return pathin.Contains(root, home) }) {
		c.walk(home)
	}
	if !pathin.Contains(home, state) || slices.ContainsFunc(c.open, func(dir string) bool { return matchesAbove(dir, state) }) {
		c.walk(state)
	}
	return c.closed, c.seen
}

// keptContents are the folders with what sessions keep of files, also of those that a command
// must not see.
func (b *Boxes) keptContents() []string {
	if b.Shared == "" {
		return nil
	}
	found, _ := filepath.Glob(filepath.Join(b.Shared, "projects", "*", "haft-blobs")) // the pattern is a good one
	return found
}

// Server says what a stdio server that the host runs may touch; nil means
// everything. A confined one reads all, uses the network and sockets of the machine,
// and writes in the folders of the project only.
func (b *Boxes) Server(host *shellrun.Host) func(mcp.Server) *sandbox.Spec {
	return func(s mcp.Server) *sandbox.Spec {
		set := b.Counts.Sandbox()
		if set.Servers == settings.NoServers || set.Servers == settings.ProjectServers && s.Scope != settings.Project.String() {
			return nil
		}
		return b.writingInside(host)
	}
}

// Hook says the same of hooks.
func (b *Boxes) Hook(host *shellrun.Host) *sandbox.Spec {
	if !b.Counts.Sandbox().Hooks {
		return nil
	}
	return b.writingInside(host)
}

// writingInside is for programs that were trusted and not judged call by call.
func (b *Boxes) writingInside(host *shellrun.Host) *sandbox.Spec {
	set := b.Counts.Sandbox()
	if set.Mode == settings.SandboxOff || set.Mode == settings.SandboxPrefer && host.Tier(sandbox.Open).Kind == sandbox.TierNone {
		return nil
	}
	caches, _ := b.caches()
	roots := sandbox.Resolve(b.Guard.Roots()...)
	return &sandbox.Spec{
		Network: sandbox.Open,
		Read:    sandbox.Resolve("/tmp", "/run"), // what others put there, and their sockets
		Write:   sandbox.Resolve(slices.Concat(roots, repositories(roots), b.settingPaths(set.AllowWrite))...),
		Protect: sandbox.Resolve(slices.Concat(b.Guard.Protected(), gitControls(roots), b.deniedPaths(set.DenyWrite, b.Guard))...),
		Scratch: sandbox.Resolve(caches...),
	}
}

// secretFiles are the files and folders that no tool shows. Folders of which some
// files may be read, and patterns, stand for the files that are there: seen are the
// folders where these were looked for.
func secretFiles(home string) (paths, seen []string) {
	for _, a := range secret.Paths(home) {
		if !filepath.IsAbs(a.Path) {
			continue // there is no home folder
		}
		pattern := a.Path
		if len(a.Except) > 0 {
			pattern = filepath.Join(a.Path, "*")
		}
		if !strings.Contains(pattern, "*") {
			paths = append(paths, a.Path)
			continue
		}
		seen = append(seen, filepath.Dir(pattern))
		found, _ := filepath.Glob(pattern) // the list has no bad pattern
		for _, path := range found {
			if !slices.ContainsFunc(a.Except, func(open string) bool { ok, _ := filepath.Match(open, path); return ok }) {
				paths = append(paths, path)
			}
		}
	}
	return paths, seen
}

// repositories are the folders of git outside the roots that hold the history of a
// worktree.
func repositories(roots []string) []string {
	var dirs []string
	for _, root := range roots {
		text, err := os.ReadFile(filepath.Join(root, ".git"))
		dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
		if err != nil || !ok {
			continue
		}
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(root, dir)
		}
		common, err := os.ReadFile(filepath.Join(dir, "commondir"))
		if err != nil { // a submodule, or a forged file: nothing says that it belongs to this folder
			continue
		}
		back, err := os.ReadFile(filepath.Join(dir, "gitdir"))
		if err != nil || strings.TrimSpace(string(back)) != filepath.Join(root, ".git") {
			continue
		}
		shared := strings.TrimSpace(string(common))
		if !filepath.IsAbs(shared) {
			shared = filepath.Join(dir, shared)
		}
		dirs = append(dirs, shared)
	}
	return dirs
}

// settingPaths reads paths of settings: ~/ begins in the home folder, / at the
// root; others begin in the project, those of the user's settings beside them.
func (b *Boxes) settingPaths(list []settings.Text) []string {
	var paths []string
	for _, t := range list {
		path := t.Text
		rest, home := strings.CutPrefix(path, "~/")
		switch {
		case path == "":
			continue
		case home && b.Home == "":
			continue
		case home:
			path = filepath.Join(b.Home, rest)
		case filepath.IsAbs(path):
			path = filepath.Clean(path)
		case t.Source == settings.User && t.File != "":
			path = filepath.Join(filepath.Dir(t.File), path)
		default:
			path = filepath.Join(b.Dir, path)
		}
		paths = append(paths, strings.TrimSuffix(path, "/**"))
	}
	return paths
}

// deniedPaths is settingPaths for what must not be read or written. A relative path also
// means the file of that name in each root: a user who denies .env means the one of the
// project, and Claude Code reads it as a file beside the user's settings.
func (b *Boxes) deniedPaths(list []settings.Text, g *guard.Guard) []string {
	paths := b.settingPaths(list)
	for _, t := range list {
		if isRelative(t.Text) {
			for _, root := range g.Roots() {
				paths = append(paths, strings.TrimSuffix(filepath.Join(root, t.Text), "/**"))
			}
		}
	}
	return paths
}

func isRelative(path string) bool {
	return path != "" && !filepath.IsAbs(path) && !strings.HasPrefix(path, "~/")
}

// Ineffective returns the paths of sandbox.filesystem.denyRead and denyWrite that probably
// deny nothing: patterns, and absolute paths where nothing is. A relative path may be there in
// another project.
func (b *Boxes) Ineffective() (patterns, missing []settings.Text) {
	set := b.Counts.Sandbox()
	for _, t := range slices.Concat(set.DenyRead, set.DenyWrite) {
		path := b.settingPaths([]settings.Text{t})
		switch {
		case len(path) == 0:
		case strings.ContainsAny(strings.TrimSuffix(t.Text, "/**"), "*?["):
			if _, err := os.Lstat(path[0]); err != nil { // else it is a name
				patterns = append(patterns, t)
			}
		case isRelative(t.Text):
		default:
			if _, err := os.Lstat(path[0]); errors.Is(err, fs.ErrNotExist) {
				missing = append(missing, t)
			}
		}
	}
	return patterns, missing
}

// caches are the folders with a throw-away layer, and those that would have one if
// they were there. What is read elsewhere is what is there: a layer may show a file
// that was replaced since.
func (b *Boxes) caches() (dirs, missing []string) {
	var all []string
	if b.Home != "" {
		for _, name := range preview.HomeCaches() {
			all = append(all, filepath.Join(b.Home, name))
		}
	}
	for _, name := range []string{"XDG_CACHE_HOME", "GOCACHE", "GOMODCACHE", "CARGO_HOME", "npm_config_cache", "PIP_CACHE_DIR", "GRADLE_USER_HOME"} {
		if dir := os.Getenv(name); filepath.IsAbs(dir) {
			all = append(all, dir)
		}
	}
	roots := b.Guard.Roots()
	for _, dir := range all {
		info, err := os.Stat(dir)
		switch {
		case err != nil:
			missing = append(missing, dir)
		case !info.IsDir():
		case slices.ContainsFunc(roots, func(root string) bool { return pathin.Contains(dir, root) || pathin.Contains(root, dir) }):
			// One that holds the project, or lies in it, is not for throwing away.
		default:
			dirs = append(dirs, dir)
		}
	}
	return dirs, missing
}

// Preview says what a previewed command sees and where its changes go, in a session and
// by hand: the shell and the command are left to the caller. It hides what the read-only
// Spec of [Boxes.Command] hides.
func (b *Boxes) Preview(readOnly *sandbox.Spec, g *guard.Guard) (preview.Request, error) {
	dirs, err := preview.Folders(b.Dir)
	if err != nil {
		return preview.Request{}, err
	}
	for _, root := range sandbox.Resolve(g.Roots()...) {
		if !containedIn(dirs, root) {
			dirs = append(dirs, root)
		}
	}
	return preview.Request{
		Dirs: dirs, Home: homeBeside(dirs), Store: filepath.Join(workspace.StateDir(), "previews"),
		Hide: readOnly.Hide, Deny: readOnly.Deny, Scratch: readOnly.Scratch, Protected: protectedBy(g),
	}, nil
}

// homeBeside is the user's home, if it is not inside one of the folders.
func homeBeside(dirs []string) string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	if home, err = filepath.EvalSymlinks(home); err != nil || home == "/" || containedIn(dirs, home) {
		return ""
	}
	return home
}

func containedIn(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return pathin.Contains(dir, path) })
}

// protectedBy says why it matters who changes a file.
func protectedBy(g *guard.Guard) func(string) string {
	return func(path string) string {
		if s := g.Look(path).Sensitive; s.Write != guard.Allow {
			return s.Written()
		}
		return ""
	}
}

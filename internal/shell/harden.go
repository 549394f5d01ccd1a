package shell

import (
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/haftdev/haft/internal/shell/gitconfig"
	"github.com/haftdev/haft/internal/sys/pathin"
)

// A GitSetting is a setting of a repository that can make git run a program,
// look elsewhere or that cannot be read.
type GitSetting struct {
	File  string // where it is set
	Key   string // "filter.lfs.clean"; "" if the file cannot be read
	Value string
	// Neutral: the environment overrides it, so that read-only commands do not
	// heed it. One that is not neutral and not trusted by the user means that
	// no git command is read-only here.
	Neutral bool
}

// environment keeps programs from running, loading, writing or contacting
// what a project chooses. An empty value stands for an unset variable; a name without one
// is taken out of the environment, where the variable alone makes a difference: with GCONV_PATH, even an empty one, every
// program reads the text of all conversions that there are, which takes longer than most commands.
var environment = []string{
	"GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat", "PAGER=cat", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ASKPASS=false", "GIT_EDITOR=false", "GIT_ALLOW_PROTOCOL=none",
	"NPM_CONFIG_UPDATE_NOTIFIER=false", "NPM_CONFIG_OFFLINE=true", "NPM_CONFIG_AUDIT=false", "NPM_CONFIG_FUND=false", "NPM_CONFIG_LOGS_MAX=0", "NPM_CONFIG_ONLOAD_SCRIPT=",
	"GOFLAGS=-buildvcs=false", "GOTOOLCHAIN=local", "GOPROXY=off", "GOVCS=*:off",
	"GH_PAGER=cat", "GH_NO_UPDATE_NOTIFIER=1", "GH_PROMPT_DISABLED=1", "SYSTEMD_PAGER=cat", "MANPAGER=cat",
	"LESSOPEN=", "LESSSECURE=1", "RIPGREP_CONFIG_PATH=", "BASH_ENV=", "ENV=", "CDPATH=", "TAR_OPTIONS=", "PIP_DISABLE_PIP_VERSION_CHECK=1", "PYTHONDONTWRITEBYTECODE=1", "GREP_OPTIONS=",
	"PYTHONPATH=", "PYTHONSTARTUP=", "NODE_OPTIONS=", "NODE_PATH=", "PERL5LIB=", "PERL5OPT=", "RUBYOPT=", "RUBYLIB=", "GCONV_PATH", "BC_ENV_ARGS=",
	"MAKEFLAGS=", "GNUMAKEFLAGS=", "MAKEFILES=", "DEBUGINFOD_URLS=", "JAVA_TOOL_OPTIONS=", "_JAVA_OPTIONS=", "JDK_JAVA_OPTIONS=",
}

// overrides are settings of git that win over every file.
var overrides = [][2]string{
	{"core.fsmonitor", "false"}, {"core.hooksPath", "/dev/null"}, {"core.pager", "cat"}, {"core.editor", "false"}, {"core.sshCommand", "false"}, {"core.askPass", "false"}, {"core.gitProxy", "false"},
	{"core.alternateRefsCommand", ""}, {"core.untrackedCache", "false"}, {"credential.helper", ""}, {"diff.autoRefreshIndex", "false"}, {"diff.ignoreSubmodules", "all"}, {"diff.submodule", "short"},
	{"log.showSignature", "false"}, {"gpg.program", "false"}, {"gpg.openpgp.program", "false"}, {"gpg.x509.program", "false"}, {"gpg.ssh.program", "false"},
	{"status.submoduleSummary", "false"}, {"submodule.recurse", "false"}, {"safe.bareRepository", "explicit"}, {"blame.ignoreRevsFile", ""}, {"interactive.diffFilter", ""}, {"sequence.editor", "false"},
	{"protocol.allow", "never"}, {"protocol.ext.allow", "never"}, {"protocol.file.allow", "never"}, {"protocol.git.allow", "never"}, {"protocol.http.allow", "never"}, {"protocol.https.allow", "never"}, {"protocol.ssh.allow", "never"},
}

// Hardening returns the environment that a read-only command must run with in
// opts.Cwd, as NAME=value, or as NAME for what must not be in it, and the settings of the git repositories there and
// above that could run a program. It reads git's configuration through opts.FS; without
// one it cannot override what the repository names and reports nothing.
//
// It is for commands whose Analysis is ReadOnly: hooks, helpers and the
// network are off.
func Hardening(opts *Options) (env []string, settings []GitSetting) {
	set := slices.Clone(overrides)
	if opts != nil && opts.FS != nil {
		r := &repository{fs: opts.FS, home: opts.Home, seen: map[string]bool{}}
		r.find(opts.Cwd)
		for _, s := range r.settings {
			var off [][2]string
			if off, s.Neutral = neutral(s.Key); s.Neutral {
				set = append(set, off...)
			}
			settings = append(settings, s)
		}
	}
	env = slices.Clone(environment)
	if opts != nil && opts.Home != "" { // or npm keeps its cache where the project says
		cache := filepath.Join(opts.Home, ".npm")
		env = append(env, "NPM_CONFIG_CACHE="+cache, "NPM_CONFIG_LOGS_DIR="+filepath.Join(cache, "_logs"))
	}
	if opts != nil && opts.FS != nil {
		env = append(env, namesProject(opts)...)
		env = append(env, "PATH="+strings.Join(safePath(opts), string(filepath.ListSeparator)))
	}
	env = append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(set)))
	for i, kv := range set {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+kv[0], "GIT_CONFIG_VALUE_"+n+"="+kv[1])
	}
	return env, settings
}

// Confined returns an environment of [Hardening] without what a sandbox makes sure of that nothing can be
// written in and nobody reached from: go env prints what the user has set.
func Confined(env []string) []string {
	return slices.DeleteFunc(env, func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return name == "GOPROXY" || name == "GOVCS" || name == "GOFLAGS" || name == "GOTOOLCHAIN"
	})
}

// GitPassword returns the file of git's settings, those of the user among them, that
// holds a password or a token, which commands that print settings or addresses of
// servers would show; "" if none does.
func GitPassword(opts *Options) string {
	if opts == nil || opts.FS == nil {
		return ""
	}
	r := &repository{fs: opts.FS, home: opts.Home, seen: map[string]bool{}}
	r.find(opts.Cwd)
	if opts.Home != "" {
		r.file(path.Join(opts.Home, ".gitconfig"), true)
		r.file(path.Join(opts.Home, ".config/git/config"), true)
	}
	return r.password
}

// safePath returns the directories of PATH that programs, and what they start
// themselves, may be taken from: those that exist, are absolute, lie outside the
// writable roots and cannot be written to by others.
func safePath(opts *Options) []string {
	p := programDirs{opts: opts}
	out, seen := []string{}, map[string]bool{}
	for _, dir := range filepath.SplitList(opts.FS.SearchPath()) {
		if dir = filepath.Clean(dir); !seen[dir] && p.safe(dir) {
			out = append(out, dir)
		}
		seen[dir] = true
	}
	return out
}

// programDirs tells of directories whether programs may be taken from them.
type programDirs struct {
	opts  *Options
	roots []string // the writable ones, under both their names, once they are known
}

func (p *programDirs) safe(dir string) bool {
	if !filepath.IsAbs(dir) {
		return false
	}
	if p.roots == nil {
		p.roots = slices.Clone(p.opts.Roots)
		for _, root := range p.opts.Roots {
			if real, err := p.opts.FS.EvalSymlinks(root); err == nil {
				p.roots = append(p.roots, real)
			}
		}
	}
	inRoots := func(dir string) bool {
		return slices.ContainsFunc(p.roots, func(root string) bool { return pathin.Contains(root, dir) })
	}
	real, err := p.opts.FS.EvalSymlinks(dir)
	info, statErr := p.opts.FS.Stat(dir)
	return err == nil && statErr == nil && info.IsDir() && info.Mode().Perm()&0o002 == 0 && !inRoots(dir) && !inRoots(real)
}

// unheeded are the sections that only commands which change something, open a
// connection or start a tool heed.
var unheeded = strings.Fields("alias merge mergetool difftool remote credential sendemail trailer url uploadpack receive browser man web instaweb imap init submodule guitool gui hook extensions")

// neutral returns the settings that turn one off for read-only commands, and
// false if that is not possible: diff.x.command cannot be unset, core.worktree
// and what is not known change what git looks at.
func neutral(key string) (set [][2]string, ok bool) {
	section, rest, _ := strings.Cut(key, ".")
	driver, name := "", rest
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		driver, name = rest[:i], rest[i+1:]
	}
	switch {
	case section == "filter":
		return [][2]string{{key, map[string]string{"clean": "cat", "smudge": "cat"}[name]}, {"filter." + driver + ".required", "false"}}, true
	case section == "diff" && name == "textconv", section == "tar" && name == "command":
		return [][2]string{{key, "cat"}}, true
	case section == "diff" && name == "cachetextconv":
		return [][2]string{{key, "false"}}, true
	case section == "pager":
		return [][2]string{{key, "false"}}, true
	case section == "submodule" && name == "ignore":
		return nil, false // it wins over diff.ignoreSubmodules, and git then heeds the settings of the submodule
	case slices.Contains(unheeded, section):
		return nil, true
	}
	return nil, slices.ContainsFunc(overrides, func(kv [2]string) bool { return strings.EqualFold(kv[0], key) })
}

// runs reports whether a setting can make git run a program or look elsewhere.
func runs(key string) bool {
	section, rest, _ := strings.Cut(key, ".")
	name := rest[strings.LastIndexByte(rest, '.')+1:]
	switch name {
	case "clean", "smudge", "process", "textconv", "command", "cmd", "driver", "program", "helper", "editor", "hookspath", "fsmonitor", "sshcommand", "askpass", "gitproxy",
		"alternaterefscommand", "uploadpack", "receivepack", "vcs", "packobjectshook", "difffilter", "tool", "guitool", "tunnel", "templatedir", "external", "defaultkeycommand", "browser", "httpd",
		"worktree", "partialclone", "promisor", "smtpserver", "tocmd", "cccmd", "hook", "subprocess", "pager", "cachetextconv":
		return true
	case "path":
		return section == "mergetool" || section == "difftool" || section == "browser" || section == "man"
	case "update", "ignore":
		return section == "submodule"
	case "insteadof", "pushinsteadof":
		return section == "url"
	}
	return section == "alias" || section == "pager" || section == "hook" || section == "guitool"
}

// A repository collects the settings of one.
type repository struct {
	fs       FS
	home     string
	seen     map[string]bool // files read
	settings []GitSetting
	password string // the first file with a password in it

	included   []GitName
	attributes []GitSetting // that name a file of attributes, which choose filters
}

// find reads the configuration of every repository in dir and above. Git uses
// the lowest that it takes for a whole one, and what it takes for one differs by
// version: an empty .git makes it look further up.
func (r *repository) find(dir string) {
	for ; path.IsAbs(dir); dir = path.Dir(dir) {
		dot := path.Join(dir, ".git")
		if info, err := r.fs.Stat(dot); err == nil {
			r.file(path.Join(dir, ".gitmodules"), true)
			if info.IsDir() {
				r.gitDir(dot)
			} else {
				r.gitFile(dir, dot)
			}
		}
		if dir == "/" {
			return
		}
	}
}

// gitFile follows a .git that is a file.
func (r *repository) gitFile(dir, name string) {
	data, err := r.fs.ReadFile(name)
	target, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir:")
	if err != nil || !ok {
		r.unreadable(name)
		return
	}
	r.gitDir(from(dir, strings.TrimSpace(target)))
}

// gitDir reads the configuration of a git directory and of the one that it
// shares with others.
func (r *repository) gitDir(dir string) {
	r.file(path.Join(dir, "config.worktree"), true)
	if data, err := r.fs.ReadFile(path.Join(dir, "commondir")); err == nil {
		common := from(dir, strings.TrimSpace(string(data)))
		r.file(path.Join(common, "config.worktree"), true)
		r.file(path.Join(common, "config"), true)
	}
	r.file(path.Join(dir, "config"), true)
}

// maxConfigs bounds the files that a configuration may include.
const maxConfigs = 50

// file reads one configuration and those that it includes, whatever the
// condition.
func (r *repository) file(name string, optional bool) {
	if r.seen[name] {
		return
	}
	if r.seen[name] = true; len(r.seen) > maxConfigs {
		r.unreadable(name)
		return
	}
	data, err := r.fs.ReadFile(name)
	if err != nil {
		if _, statErr := r.fs.Stat(name); statErr == nil || !optional {
			r.unreadable(name)
		}
		return
	}
	entries, err := gitconfig.Parse(string(data))
	if err != nil {
		r.unreadable(name)
	}
	for _, e := range entries {
		if r.password == "" && holdsPassword(e.Key, e.Value) {
			r.password = name
		}
		r.entry(name, e.Key, e.Value)
	}
}

// entry takes in one setting of a file.
func (r *repository) entry(file, key, value string) {
	s := GitSetting{File: file, Key: key, Value: value}
	switch {
	case key == "include.path", strings.HasPrefix(key, "includeif.") && strings.HasSuffix(key, ".path"):
		r.include(file, value)
	case key == "core.attributesfile":
		r.attributes = append(r.attributes, s)
	case runs(key) && !(strings.HasSuffix(key, ".ignore") && value == "all"):
		r.settings = append(r.settings, s)
	}
}

// holdsPassword reports whether a setting is a password or a token, or an address with
// one.
func holdsPassword(key, value string) bool {
	name := strings.ToLower(key[strings.LastIndexByte(key, '.')+1:])
	if strings.Contains(name, "password") || strings.HasSuffix(name, "pass") || strings.HasSuffix(name, "token") || name == "extraheader" || name == "cookiefile" {
		return value != ""
	}
	for text := range strings.SplitSeq(key+" "+value, "://") {
		host, _, _ := strings.Cut(text, "/")
		user, _, ok := strings.Cut(host, "@")
		const shortest = 20 // of a token that stands in place of a name
		if _, password, two := strings.Cut(user, ":"); ok && (two && password != "" || len(user) >= shortest && !strings.Contains(user, " ")) {
			return true
		}
	}
	return false
}

func (r *repository) include(name, target string) {
	if rest, ok := strings.CutPrefix(target, "~/"); ok {
		if r.home == "" {
			r.unreadable(target)
			return
		}
		target = path.Join(r.home, rest)
	}
	if strings.HasPrefix(target, "~") || strings.HasPrefix(target, "%(") {
		r.unreadable(target)
		return
	}
	target = from(path.Dir(name), target)
	r.included = append(r.included, GitName{Path: target, Key: "include.path"})
	r.file(target, true)
}

func (r *repository) unreadable(name string) {
	r.settings = append(r.settings, GitSetting{File: name})
}

// names returns what the settings that were read name, for the work trees in dir and above.
func (r *repository) names(dir string) []GitName {
	var tops []string
	for up := dir; path.IsAbs(up); up = path.Dir(up) {
		if _, err := r.fs.Stat(path.Join(up, ".git")); err == nil {
			tops = append(tops, up)
		}
		if up == "/" {
			break
		}
	}
	names := slices.Clone(r.included)
	for _, s := range slices.Concat(r.settings, r.attributes) {
		whole := s.Key == "core.hookspath" || s.Key == "core.attributesfile"
		words := []string{s.Value}
		if !whole {
			words = append(words, strings.FieldsFunc(s.Value, func(c rune) bool { return strings.ContainsRune(" \t\n;&|<>()='\"!", c) })...)
		}
		for _, word := range words {
			if rest, ok := strings.CutPrefix(word, "~/"); ok {
				word = path.Join(r.home, rest)
			}
			for _, top := range tops {
				if name := from(top, word); word != "" && (whole || strings.Contains(word, "/") && !strings.Contains(word, "://") || r.isFile(name)) {
					names = append(names, GitName{Path: name, Key: s.Key, Folder: s.Key == "core.hookspath"})
				}
			}
		}
	}
	return names
}

func (r *repository) isFile(name string) bool {
	info, err := r.fs.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// from resolves a path against a directory.
func from(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}

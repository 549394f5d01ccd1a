package shell

import (
	"path"
	"strings"
)

// A GitName is a file or a folder that a setting of git names: git runs it, or takes more settings from it.
type GitName struct {
	Path   string
	Key    string // "core.hookspath"
	Folder bool   // what is in it runs
}

// GitNames returns what git's settings name for the repositories in opts.Cwd and above, those of the user and of opts.Environ
// among them. What they name relatively starts from the top of the work tree, where git runs it.
func GitNames(opts *Options) []GitName {
	if opts == nil || opts.FS == nil {
		return nil
	}
	r := &repository{fs: opts.FS, home: opts.Home, seen: map[string]bool{}}
	r.find(opts.Cwd)
	env := map[string]string{}
	for _, v := range opts.Environ {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	users := []string{"/etc/gitconfig", env["GIT_CONFIG_SYSTEM"], env["GIT_CONFIG_GLOBAL"]}
	if opts.Home != "" {
		users = append(users, path.Join(opts.Home, ".gitconfig"), path.Join(opts.Home, ".config/git/config"))
	}
	if dir := env["XDG_CONFIG_HOME"]; dir != "" {
		users = append(users, path.Join(dir, "git/config"))
	}
	for _, file := range users {
		if path.IsAbs(file) {
			r.file(file, true)
		}
	}
	for name, key := range env {
		if n, ok := strings.CutPrefix(name, "GIT_CONFIG_KEY_"); ok {
			r.entry("", strings.ToLower(key), env["GIT_CONFIG_VALUE_"+n])
		}
	}
	return r.names(opts.Cwd)
}

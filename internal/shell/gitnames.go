package shell

import (
	"path"
	"slices"
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

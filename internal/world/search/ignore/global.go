package ignore

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Global is the user's excludes for all repositories. The zero value has none. They
// are read when they are first needed, which outside repositories is never.
type Global struct{ load func() excludes }

type excludes struct {
	rules   *Rules
	sources []string
}

// LoadGlobal gives the excludes of the file that core.excludesFile names in the user's
// git configuration, or of git's default for it. getenv is os.Getenv but in tests.
func LoadGlobal(getenv func(string) string) Global {
	return Global{sync.OnceValue(func() excludes { return readExcludes(getenv) })}
}

// Sources lists the files, present or not, that decide what is excluded.
func (g Global) Sources() []string { return g.excludes().sources }

func (g Global) excludes() excludes {
	if g.load == nil {
		return excludes{}
	}
	return g.load()
}

func readExcludes(getenv func(string) string) (e excludes) {
	home := getenv("HOME")
	config := getenv("XDG_CONFIG_HOME")
	if config == "" && home != "" {
		config = filepath.Join(home, ".config")
	}
	if config == "" {
		return e
	}
	file := filepath.Join(config, "git", "ignore")
	for _, path := range []string{filepath.Join(config, "git", "config"), filepath.Join(home, ".gitconfig")} {
		e.sources = append(e.sources, path)
		if named, ok := excludesFile(path); ok {
			file = expandHome(named, home)
		}
	}
	e.sources = append(e.sources, file)
	e.rules = parseFile(file)
	return e
}

// excludesFile reads core.excludesFile from a git configuration file.
func excludesFile(config string) (string, bool) {
	text, err := os.ReadFile(config)
	if err != nil {
		return "", false
	}
	section, value, found := "", "", false
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			section = strings.ToLower(strings.Trim(line, "[] \t"))
			continue
		}
		key, v, ok := strings.Cut(line, "=")
		if ok && section == "core" && strings.EqualFold(strings.TrimSpace(key), "excludesfile") {
			value, found = strings.Trim(strings.TrimSpace(v), `"`), true
		}
	}
	return value, found
}

func expandHome(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return path
}

// ExcludeFile is where the repository at dir keeps info/exclude. In a linked
// worktree .git is a file that points to the administrative directory.
func ExcludeFile(dir string) string {
	git := filepath.Join(dir, ".git")
	if fi, err := os.Stat(git); err == nil && fi.Mode().IsRegular() && fi.Size() < 1<<16 {
		if text, err := os.ReadFile(git); err == nil {
			if to, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: "); ok {
				git = commonDir(resolve(dir, to))
			}
		}
	}
	return filepath.Join(git, "info", "exclude")
}

func commonDir(git string) string {
	if text, err := os.ReadFile(filepath.Join(git, "commondir")); err == nil {
		return resolve(git, strings.TrimSpace(string(text)))
	}
	return git
}

func resolve(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

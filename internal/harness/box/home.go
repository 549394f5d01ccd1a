package box

import (
	_ "embed"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/shell/gitconfig"
	"github.com/haftdev/haft/internal/sys/pathin"
)

//go:embed openhome.txt
var openInHome string

// toolchainVariables name folders of toolchains, which they may have anywhere.
var toolchainVariables = strings.Fields(`GOROOT GOPATH GOMODCACHE GOCACHE CARGO_HOME RUSTUP_HOME NVM_DIR VOLTA_HOME FNM_DIR N_PREFIX PNPM_HOME BUN_INSTALL DENO_DIR DENO_INSTALL NODE_PATH
	npm_config_cache YARN_CACHE_FOLDER PYENV_ROOT PIP_CACHE_DIR UV_CACHE_DIR VIRTUAL_ENV CONDA_PREFIX PYTHONPATH PYTHONUSERBASE POETRY_CACHE_DIR RBENV_ROOT GEM_HOME GEM_PATH JAVA_HOME M2_HOME MAVEN_HOME
	GRADLE_USER_HOME SDKMAN_DIR ANDROID_HOME ANDROID_SDK_ROOT DOTNET_ROOT NUGET_PACKAGES COMPOSER_HOME OPAMROOT STACK_ROOT CABAL_DIR GHCUP_INSTALL_BASE_PREFIX ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR
	JULIA_DEPOT_PATH R_LIBS_USER VCPKG_ROOT EMSDK CCACHE_DIR SCCACHE_DIR PLAYWRIGHT_BROWSERS_PATH PUPPETEER_CACHE_DIR HOMEBREW_PREFIX FLUTTER_ROOT`)

// namedByEnvironment returns the folders that PATH and the variables of toolchains name below a
// home folder, with the folder of which a program's is the part bin.
func namedByEnvironment(home string) []string {
	var dirs []string
	add := func(dir string) {
		if pathin.Contains(home, dir) && dir != home && dir != filepath.Join(home, ".local") && dir != filepath.Join(home, ".config") {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		add(filepath.Clean(dir))
		switch filepath.Base(dir) {
		case "bin", "sbin", "shims":
			add(filepath.Dir(filepath.Clean(dir)))
		}
	}
	for _, name := range toolchainVariables {
		for _, dir := range filepath.SplitList(os.Getenv(name)) {
			add(filepath.Clean(dir))
		}
	}
	return dirs
}

// A closer lists what is closed.
type closer struct {
	open   []string // with all that is below; a name may be a pattern
	kept   func() []string
	closed []string
	seen   []string
}

// walk closes what is in a folder and does not lead to something open. A link is what it leads
// to: that is closed or open by its own name.
func (c *closer) walk(dir string) {
	entries, err := os.ReadDir(dir)
	c.seen = append(c.seen, dir)
	if err != nil {
		return
	}
	open := c.open
	if c.kept != nil {
		open = slices.Concat(open, c.kept())
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.Type()&os.ModeSymlink != 0, slices.ContainsFunc(open, func(o string) bool { return matchesAbove(o, path) }):
		case e.IsDir() && slices.ContainsFunc(open, func(o string) bool { return leadsTo(path, o) }):
			c.walk(path)
		default:
			c.closed = append(c.closed, path)
		}
	}
}

// matchesAbove reports whether a path is what a pattern stands for, or below it.
func matchesAbove(pattern, path string) bool {
	for p := path; ; p = filepath.Dir(p) {
		if ok, err := filepath.Match(pattern, p); ok && err == nil || p == pattern {
			return true
		}
		if p == filepath.Dir(p) {
			return false
		}
	}
}

// leadsTo reports whether a pattern stands for something below a folder.
func leadsTo(dir, pattern string) bool {
	for p := filepath.Dir(pattern); ; p = filepath.Dir(p) {
		if ok, err := filepath.Match(p, dir); ok && err == nil || p == dir {
			return true
		}
		if p == filepath.Dir(p) {
			return false
		}
	}
}

// namedByGit returns what the settings of git name: repositories that are remotes of the folders, and
// files of the user's own settings, as for ignored files and messages.
func namedByGit(roots []string, home string) []string {
	var paths []string
	for _, root := range roots {
		for _, e := range settingsIn(filepath.Join(root, ".git", "config")) {
			name := e.Key[strings.LastIndexByte(e.Key, '.')+1:]
			path := strings.TrimPrefix(e.Value, "file://")
			if !strings.HasPrefix(e.Key, "remote.") || name != "url" && name != "pushurl" || path == "" {
				continue
			}
			if !filepath.IsAbs(path) {
				path = filepath.Join(root, path)
			}
			for _, sign := range []string{"HEAD", ".git"} { // nothing else opens, whatever a setting says
				if _, err := os.Lstat(filepath.Join(path, sign)); err == nil {
					paths = append(paths, filepath.Clean(path))
				}
			}
		}
	}
	for _, file := range []string{".gitconfig", filepath.Join(".config", "git", "config")} {
		for _, e := range settingsIn(filepath.Join(home, file)) {
			switch name := e.Key[strings.LastIndexByte(e.Key, '.')+1:]; name {
			case "path", "excludesfile", "attributesfile", "template", "hookspath", "ignorerevsfile", "mailmap", "templatedir":
				path, below := strings.CutPrefix(e.Value, "~/")
				switch {
				case below:
					paths = append(paths, filepath.Join(home, path))
				case filepath.IsAbs(path):
					paths = append(paths, filepath.Clean(path))
				default:
					paths = append(paths, filepath.Join(home, filepath.Dir(file), path))
				}
			}
		}
	}
	return slices.DeleteFunc(paths, func(path string) bool { return pathin.Contains(path, home) })
}

// settingsIn reads a configuration of git, as far as it can be read.
func settingsIn(file string) []gitconfig.Entry {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	entries, _ := gitconfig.Parse(string(text))
	return entries
}

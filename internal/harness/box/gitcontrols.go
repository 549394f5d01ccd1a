package box

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/shell/gitconfig"
)

// gitControls are the files by which git is told what to run, of the repositories of some
// folders, whether they exist or not: their settings, also those that they include, and
// what says where the settings are. A command that wrote one would run a program at the
// user's next git status, outside of any sandbox.
//
// A repository that a command makes below the folders is not among them; see the gaps in
// docs/sandbox.md.
func gitControls(roots []string) []string {
	var paths []string
	for _, root := range roots {
		own := filepath.Join(root, ".git")
		if info, err := os.Lstat(own); err == nil && info.IsDir() {
			paths = append(paths, controlsIn(own)...)
		} else if err == nil {
			paths = append(paths, own) // it says where the repository is
		}
	}
	for _, shared := range repositories(roots) {
		paths = append(paths, controlsIn(shared)...)
	}
	return paths
}

// gitFolders are those whose change may mean other controls: the submodules, and a
// repository that is not there yet.
func gitFolders(roots []string) []string {
	var dirs []string
	for _, root := range roots {
		own := filepath.Join(root, ".git")
		dirs = append(dirs, filepath.Join(own, "modules"))
		if _, err := os.Lstat(own); err != nil {
			dirs = append(dirs, own)
		}
	}
	return dirs
}

// controlsIn are those of one repository with its submodules and worktrees.
func controlsIn(repository string) []string {
	var paths []string
	for _, dir := range append(modulesIn(repository, 0), repository) {
		for _, name := range []string{"config", "config.worktree", "commondir", "hooks", filepath.Join("info", "attributes")} {
			paths = append(paths, filepath.Join(dir, name))
		}
		paths = append(paths, includedBy(filepath.Join(dir, "config"))...)
	}
	trees, _ := filepath.Glob(filepath.Join(repository, "worktrees", "*")) // the pattern is a good one
	for _, dir := range trees {
		paths = append(paths, filepath.Join(dir, "commondir"), filepath.Join(dir, "config.worktree"), filepath.Join(dir, "gitdir"))
	}
	return paths
}

// maxModules bounds how deep submodules are looked for: names may have slashes.
const maxModules = 6

// modulesIn finds the repositories of submodules.
func modulesIn(repository string, depth int) []string {
	var dirs []string
	entries, _ := os.ReadDir(filepath.Join(repository, "modules")) // none, mostly
	for _, e := range entries {
		dirs = append(dirs, moduleBelow(filepath.Join(repository, "modules", e.Name()), depth+1)...)
	}
	return dirs
}

func moduleBelow(dir string, depth int) []string {
	if depth > maxModules {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err == nil {
		return append(modulesIn(dir, depth), dir)
	}
	var dirs []string
	entries, _ := os.ReadDir(dir) // a folder in a module's name
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, moduleBelow(filepath.Join(dir, e.Name()), depth+1)...)
		}
	}
	return dirs
}

// includedBy are the files that a configuration includes, except those of the home
// folder, which commands cannot write.
func includedBy(config string) []string {
	text, err := os.ReadFile(config)
	if err != nil {
		return nil
	}
	entries, _ := gitconfig.Parse(string(text)) // what can be read counts
	var paths []string
	for _, e := range entries {
		isInclude := e.Key == "include.path" || strings.HasPrefix(e.Key, "includeif.") && strings.HasSuffix(e.Key, ".path")
		switch {
		case !isInclude || strings.HasPrefix(e.Value, "~"):
		case filepath.IsAbs(e.Value):
			paths = append(paths, filepath.Clean(e.Value))
		default:
			paths = append(paths, filepath.Join(filepath.Dir(config), e.Value))
		}
	}
	return paths
}

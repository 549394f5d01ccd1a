// Package ownprogram finds the programs that haft starts by itself, such as git and bash, outside the project.
//
//	git, err := ownprogram.Find("git", dir)
//	env = append(env, "PATH="+ownprogram.Path(os.Getenv("PATH"), dir))
//
// A folder of PATH may be in the project, by direnv for example. The user's commands find programs there; haft does not, because
// it starts them unasked, also in a project that nobody trusts. The functions are safe for concurrent use.
package ownprogram

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/sys/regular"
)

// Find returns the first program of a name in PATH that is outside the projects around some folders and around that of this
// process. If there is none, the error is an [exec.ErrNotFound].
func Find(name string, dirs ...string) (string, error) {
	roots := projects(dirs)
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		file, err := exec.LookPath(filepath.Join(dir, name))
		if err != nil || !outside(dir, roots) {
			continue
		}
		if real, err := filepath.EvalSymlinks(file); err == nil && !inside(real, roots) {
			return file, nil
		}
	}
	return "", fmt.Errorf("find %s outside the project: %w", name, exec.ErrNotFound)
}

// Path returns the folders of a PATH that are outside those projects.
func Path(list string, dirs ...string) string {
	roots := projects(dirs)
	kept := slices.DeleteFunc(filepath.SplitList(list), func(dir string) bool { return !outside(dir, roots) })
	return strings.Join(kept, string(filepath.ListSeparator))
}

func outside(dir string, roots []string) bool {
	if !filepath.IsAbs(dir) || inside(dir, roots) {
		return false
	}
	real, err := filepath.EvalSymlinks(dir)
	return err != nil || !inside(real, roots)
}

func inside(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return pathin.ContainsFold(root, path) })
}

// projects returns the projects around folders, under both their names.
func projects(dirs []string) []string {
	if wd, err := os.Getwd(); err == nil {
		dirs = append(slices.Clip(dirs), wd)
	}
	var roots []string
	for _, dir := range dirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		names := []string{abs}
		if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
			names = append(names, real)
		}
		for _, name := range names {
			for _, root := range around(name) {
				if root != filepath.Dir(root) { // everything is in that of the machine
					roots = append(roots, root)
				}
			}
		}
	}
	return roots
}

// around returns the work tree that a folder is in, or the folder, and the project that a linked work tree belongs to.
func around(dir string) []string {
	for up := dir; ; up = filepath.Dir(up) {
		dot := filepath.Join(up, ".git")
		info, err := os.Lstat(dot)
		switch {
		case err == nil && info.Mode().IsRegular():
			text, _ := regular.Read(dot, 4096)
			at, _ := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
			if main, _, linked := strings.Cut(filepath.ToSlash(at), "/.git/"); linked && filepath.IsAbs(main) {
				return []string{up, filepath.FromSlash(main)}
			}
			return []string{up}
		case err == nil:
			return []string{up}
		case up == filepath.Dir(up):
			return []string{dir}
		}
	}
}

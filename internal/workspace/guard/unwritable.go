package guard

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/secret"
)

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

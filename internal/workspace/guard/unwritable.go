package guard

import (
	"path/filepath"
	"slices"
	"strings"
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

// takingOver are the kinds of files by which a command would run others later.
var takingOver = []string{whatAgent, whatEditor, whatHooks, whatShell}

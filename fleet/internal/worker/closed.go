package worker

import (
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/world/shellrun"
)

// closeFiles denies all runs of this worker its keys and the stores of servers on this machine: who reads them could
// act as the worker, or read the journals of everybody. Rules of this kind hold in every mode, and for commands, too.
//
// On a machine that cannot keep commands from files, such a rule would let no command run. There the worker goes on and
// says so: what separates it from its runs is then what separates it from everything else, such as its container.
func (w *worker) closeFiles() {
	if len(w.Closed) == 0 {
		return
	}
	host := shellrun.NewHost(&shellrun.Options{Reexec: w.Reexec, NoProfile: true})
	defer host.Close()
	if !host.Holds() {
		w.Log.Warn("this machine has no sandbox that keeps commands from files: the commands of a run in bypassPermissions mode can read this worker's key", "files", w.Closed)
		return
	}
	for _, path := range w.Closed {
		w.denied = append(w.denied, denials(path)...)
	}
}

// denials are the rules that close a file or folder, under the name it has and the one that links lead to.
func denials(path string) (rules []string) {
	names := []string{path}
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		names = append(names, real)
	}
	for _, name := range names {
		text := "/" + literal.Replace(filepath.ToSlash(name))
		for _, tool := range []string{"Read", "Edit"} {
			rules = append(rules, tool+"("+text+")", tool+"("+text+"/**)")
		}
	}
	return rules
}

// literal lets a pattern match only the name itself.
var literal = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`)

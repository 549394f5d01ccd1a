package shell

import (
	"errors"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/shell/grammar"
	"github.com/haftdev/haft/internal/sys/pathin"
)

// cd returns where the shell may be after a cd.
func (a *analyzer) cd(args []value, assigns []assignment) flow {
	f := flow{ok: dirs{lost}, fail: a.dirs}
	target, err := cdTarget(toWords(args[1:]))
	if err != nil || len(assigns) > 0 {
		f.fail = dirs{lost}
		return f
	}
	f.ok = nil
	for _, dir := range a.dirs {
		f.ok = f.ok.union(dirs{join(dir, target)})
	}
	return f
}

// cdTarget returns the directory that cd names.
func cdTarget(args []grammar.Word) (string, error) {
	if len(args) == 2 && args[0].Known() && args[0].Value == "--" {
		args = args[1:]
	}
	if len(args) != 1 || !args[0].Known() || args[0].Value == "" || strings.ContainsRune("-+", rune(args[0].Value[0])) { // pushd +1 goes back
		return "", errors.New("cd to a directory that is only known at run time")
	}
	return args[0].Value, nil
}

// checkCD returns why a cd is not read-only: it must stay inside the roots,
// links resolved where they can be.
func (a *analyzer) checkCD(args []grammar.Word) error {
	target, err := cdTarget(args)
	if err != nil {
		return err
	}
	for _, dir := range a.dirs {
		to := join(dir, target)
		if !a.inside(to) {
			return fmt.Errorf("cd %s leaves the project", target)
		}
		if a.opts.FS == nil || to[0] != '/' {
			continue
		}
		if real, err := a.opts.FS.EvalSymlinks(to); err == nil && !a.insideReal(real) {
			return fmt.Errorf("cd %s leaves the project through a symbolic link", target)
		}
	}
	return nil
}

// insideReal is inside for a path without links: the roots may have some.
func (a *analyzer) insideReal(dir string) bool {
	for _, root := range a.opts.Roots {
		if real, err := a.opts.FS.EvalSymlinks(root); err == nil && pathin.Contains(real, dir) {
			return true
		}
	}
	return a.inside(dir)
}

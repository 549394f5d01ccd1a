package shellrun

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
)

// ErrNotFound says that a program is not in the PATH that commands have.
var ErrNotFound = errors.New("not found in PATH")

// Find looks for the first of some programs in the PATH that commands have, which
// is that of the user's shell profile. An absolute name is looked for where it says.
func (h *Host) Find(ctx context.Context, names ...string) (string, error) {
	shell, err := h.prepare(ctx)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if filepath.IsAbs(name) {
			if path, err := exec.LookPath(name); err == nil {
				return path, nil
			}
			continue
		}
		for _, dir := range filepath.SplitList(lookup(shell.env, "PATH")) {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil && filepath.IsAbs(path) {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%s: %w", names[0], ErrNotFound)
}

// Start starts a program that lives beside the commands, such as an interpreter,
// with their environment and, in place of that or beside it, the variables of
// c.Env. Like a command, it is ended with everything it started by Close, and when
// the harness is killed.
func (h *Host) Start(ctx context.Context, c Command) (Process, error) {
	shell, err := h.prepare(ctx)
	if err != nil {
		return nil, err
	}
	c.Env = replaceAll(shell.env, c.Env)
	return h.launch(c)
}

// NewOutput makes an Output for what a program writes, with a file beside those of
// the commands once it needs one. Close it when nothing follows.
func (h *Host) NewOutput() *Output { return newOutput(newID(), h.spool, false) }

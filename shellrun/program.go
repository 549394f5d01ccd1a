package shellrun

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
)

// ErrNotFound means that a program is not in the commands' PATH.
var ErrNotFound = errors.New("not found in PATH")

// Find returns the first of the named programs that exists in the commands' PATH, which comes
// from the user's shell profile. Absolute names are checked as they are.
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

// Start starts a program that runs beside the commands, such as an interpreter, with their
// environment; variables in c.Env add to it or replace its own. Like a command, the program is
// ended, with everything it started, by Close and when the harness is killed.
func (h *Host) Start(ctx context.Context, c Command) (Process, error) {
	shell, err := h.prepare(ctx)
	if err != nil {
		return nil, err
	}
	c.Env = replaceAll(shell.env, c.Env)
	return h.launch(c)
}

// NewOutput makes an Output for another program, with a file beside those of the commands once
// it needs one. Close it when nothing more will be written.
func (h *Host) NewOutput() *Output { return newOutput(newID(), h.spool, false) }

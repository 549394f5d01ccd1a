//go:build !unix

// Package processgroup ends a short command of the settings, such as a hook or a status line,
// together with what it has started; on this system it ends the command alone.
package processgroup

import "os/exec"

// Own does nothing: only the command itself is killed when its context ends.
func Own(*exec.Cmd) {}

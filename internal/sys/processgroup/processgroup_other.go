//go:build !unix

package processgroup

import "os/exec"

// Own does nothing: only the command itself is killed when its context ends.
func Own(*exec.Cmd) {}

// End does nothing: there is no group to kill.
func End(*exec.Cmd) {}

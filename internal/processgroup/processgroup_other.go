//go:build !unix

package processgroup

import "os/exec"

// Own does nothing: only the command itself is killed when its context ends.
func Own(*exec.Cmd) {}

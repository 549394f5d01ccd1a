//go:build !unix

package hook

import "os/exec"

// ownGroup does nothing: only the command itself is killed when its context ends.
func ownGroup(*exec.Cmd) {}

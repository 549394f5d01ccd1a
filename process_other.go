//go:build !unix

package haft

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

// terminate asks nothing: where there are no signals, closing the input was the
// way to ask.
func terminate(*os.Process) error { return nil }

func killGroup(p *os.Process) { _ = p.Kill() }

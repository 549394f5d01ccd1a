//go:build !unix

package haft

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

// terminate does nothing: without signals, closing the input is the only way to ask.
func terminate(*os.Process) error { return nil }

func killGroup(p *os.Process) { _ = p.Kill() }

//go:build !unix

package shell

import "os/exec"

// fewProcesses does nothing where processes have no limits.
func fewProcesses(*exec.Cmd) {}

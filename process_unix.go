//go:build unix

package haft

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup gives the process its own group, so that a Ctrl-C in the terminal reaches only
// the program that uses this package, and so that the whole group can be killed.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// killGroup kills the process and its group. The process has not been waited for, so its id
// cannot have been reused.
func killGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	_ = p.Kill()
}

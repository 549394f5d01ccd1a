//go:build unix

package haft

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup gives the process a group of its own: a Ctrl-C in the terminal is
// for the program that uses this package, which decides what it means; and what
// is left of the group can be killed.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// killGroup kills the process and its group. The process has not been waited
// for, so its id is still its own.
func killGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	_ = p.Kill()
}

//go:build unix

package processgroup

import (
	"os/exec"
	"syscall"
)

// Own puts a command into its own process group, which is killed when its context
// ends. A process that has left the group stays.
func Own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

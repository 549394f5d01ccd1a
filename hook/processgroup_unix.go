//go:build unix

package hook

import (
	"os/exec"
	"syscall"
)

// ownGroup puts a command into its own process group, which is killed when its context
// ends.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

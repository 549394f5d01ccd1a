//go:build unix

package processgroup

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Own puts a command into its own process group, which is killed when its context
// ends. A process that has left the group stays.
func Own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return kill(cmd) }
}

// End kills what a command that has ended left running in its group.
func End(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = kill(cmd) // as a rule nothing is left
	}
}

func kill(cmd *exec.Cmd) error {
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

//go:build unix

// Package processgroup ends a short command of the settings, such as a hook or a status line,
// together with what it has started. Commands of the model need more: see shellrun.
//
//	cmd := exec.CommandContext(ctx, "sh", "-c", command)
//	processgroup.Own(cmd)
//
// Call it before the command starts. It has no state.
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

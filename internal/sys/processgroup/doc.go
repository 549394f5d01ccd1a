// Package processgroup ends a short command of the settings, such as a hook or a status line,
// together with what it has started. Commands of the model need more: see shellrun.
//
//	cmd := exec.CommandContext(ctx, "sh", "-c", command)
//	processgroup.Own(cmd)
//	err := cmd.Run()
//	processgroup.End(cmd)
//
// Call Own before the command starts. End is for a command that must leave nothing behind; a hook
// may start programs that outlive it. The package has no state. Where there are no process groups, as on
// Windows, the command is ended alone.
package processgroup

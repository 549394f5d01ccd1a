// Package processgroup ends a short command of the settings, such as a hook or a status line,
// together with what it has started. Commands of the model need more: see shellrun.
//
//	cmd := exec.CommandContext(ctx, "sh", "-c", command)
//	processgroup.Own(cmd)
//
// Call it before the command starts. It has no state. Where there are no process groups, as on
// Windows, the command is ended alone.
package processgroup

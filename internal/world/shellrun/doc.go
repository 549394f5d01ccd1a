// Package shellrun starts, watches and ends shell commands together with
// everything they start, and keeps what they write.
//
// A program calls [Supervise] first in its main, makes one [Host], and one
// [Shell] per agent:
//
//	reexec := shellrun.Supervise() // does not return in the supervisor process
//	host := shellrun.NewHost(&shellrun.Options{Reexec: reexec})
//	defer host.Close()
//	task, err := host.NewShell(dir).Run(ctx, shellrun.Request{Command: "make test", Timeout: 2 * time.Minute})
//
// All types are safe for concurrent use. Host.Close ends every command; nothing
// else needs closing.
//
// # How a tree is owned
//
// Commands are started not by the harness but by the keeper, one process per harness: the same
// binary, started with the first command. The keeper is a child subreaper, so every orphan of
// a command, however it tried to detach itself, becomes the keeper's child. It therefore knows
// exactly, and cheaply, when nothing is left of a command: when its only children are the main
// processes of running commands. Only then does this package consider the command ended.
// Descendants that outlive the main process of a command get a moment to write their last
// lines, then SIGTERM, then SIGKILL, repeatedly, until none is left.
//
// If several commands are running, an orphan is assigned to one of them by a tag that all
// descendants inherit and cannot lose by accident (see tag), by its session and by its
// parents. Where cgroups can be created, each command has its own, which is killed in one
// step.
//
// The harness and the keeper share a socket. When the harness dies, by kill -9 or otherwise,
// the socket closes, and the keeper ends all commands and then itself. Until nothing is left
// of a command, the keeper holds a file open, so that other processes can wait for that
// moment: see [Command.Hold]. When the keeper is killed, its commands get their parent-death
// signal and the harness kills the rest by tag and cgroup. A keeper that does not answer
// because a command has stopped it is killed.
//
// Two other designs were considered. A supervisor per command needs no tags, but starting a Go
// program of this size costs more than the command itself (the budget is 1.5 ms on top of fork
// and exec; the keeper costs about 0.4 ms, 0.6 ms with a cgroup). Making the harness itself
// the subreaper saves a process, but it would adopt and reap processes behind the back of an
// embedding program, and something must outlive the harness anyway.
//
// # Output
//
// Standard output and standard error share one pipe, which preserves their order. An [Output]
// keeps the beginning and the end in memory and everything, up to quotas, in a file. An
// [Excerpt] of it says what was left out.
//
// # What commands can touch
//
// A command may do whatever the user may, unless its Box says otherwise. This package ensures
// that commands end, that they have no terminal and no input, and that they inherit only a
// list of harmless variables from the harness's environment (never a provider's keys).
//
// A command with a [Command.Box] is started by a second keeper, which leads a box of package
// sandbox and is itself started with the first such command. Where no box can be made, a
// confined thread of the first keeper starts it. In a box the keeper is process 1: no command
// can see, stop or kill it, and when it dies the kernel ends everything. The files that
// commands write in the scratch directory (which record the directory that a command ended in)
// are separate from those that all commands read there, which a confined command cannot write.
//
// Gaps that remain:
//   - Work that a command hands to an existing daemon (systemd-run, docker, at, a
//     running tmux server) is not a descendant of the command and is not ended.
//   - A process of another user (sudo) cannot be killed without root's rights. It is
//     reported in Status.Left.
//   - Where no cgroup can be made, a descendant that removes its tag on purpose is
//     ended only when no other command runs, or with the harness; and it survives
//     if it leaves its session and kills the keeper too.
//   - kill -9 of harness and keeper in the same instant leaves what is not a
//     direct child of the keeper; in a cgroup it is ended when the next keeper
//     starts.
//   - Without a Box a command can read the environment and the memory of the
//     user's other processes in /proc; those of the harness and the keeper too
//     if it runs as root.
//   - On systems other than Linux only the command's process group is owned, and
//     only while the harness lives. Windows is not supported yet.
package shellrun

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
// Commands are started not by the harness but by the keeper, one process per
// harness: the same binary, started with the first command. The keeper is a
// child subreaper, so that every orphan of a command, whatever it did to get
// away, becomes the keeper's child. Hence it knows exactly and cheaply when
// nothing is left: when it has no children but the main processes of running
// commands. A command is over for this package only then. Descendants that
// outlive the main process of a command get a moment to write their last lines,
// then SIGTERM, then SIGKILL, in rounds, until none is left.
//
// Which orphan belongs to which of several running commands is determined by a tag
// that all descendants inherit and none can lose by accident (see tag), by
// session and by parents. Where a cgroup may be made, each command has one,
// which is killed in one step.
//
// The harness and the keeper share a socket. When the harness is gone, by kill
// -9 or otherwise, the socket ends and the keeper ends everything, then itself.
// Until nothing of a command is left the keeper holds a file open for those
// who want to know: see [Command]. When the keeper is killed, its commands die by their death signal and the
// harness kills the rest by tag and cgroup. A keeper that does not answer,
// because a command has stopped it, is killed.
//
// Other designs were weighed. A supervisor per command is exact without tags,
// but starting a Go program of this size costs more than the command (the
// budget is 1.5 ms over fork and exec; the keeper costs about 0.4 ms, 0.6 ms
// with a cgroup). The harness as its own subreaper saves the hop, but it would
// adopt and reap what an embedding program does not expect, and needs a second
// process to outlive it anyway.
//
// # Output
//
// Standard output and error are one pipe, so that their order is that of
// arrival. An [Output] holds the beginning and the end in memory and all of it,
// up to quotas, in a file; what is shown of it says what is left out. See
// [Output] and [Excerpt].
//
// # What commands can touch
//
// A command may do what the user may, unless its Box says otherwise. This package
// sees to it that commands end, that they have no terminal and no input, and that
// they do not inherit the harness's environment but a list of harmless names
// (never a provider's keys).
//
// A command with a [Command.Box] is started by a second keeper, which leads a box
// of package sandbox and starts with the first such command; where no box can be
// made, by a confined thread of the first. In a box the keeper is process 1: no
// command can see, stop or kill it, and when it dies the kernel ends everything.
// What commands leave in the scratch directory (where they ended) is apart from
// what all commands read there, which a confined one cannot write.
//
// Gaps that remain:
//   - A process that hands its work to a daemon which was there before
//     (systemd-run, docker, at, a running tmux server) is not its parent.
//   - A process of another user (sudo) cannot be killed by an ordinary one. It
//     is reported in Status.Left.
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

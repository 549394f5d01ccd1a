// Package sandbox confines commands with what the kernel has: namespaces,
// Landlock and seccomp. It needs no helper program and no rights.
//
// A [Spec] says what a command may touch. Package shellrun starts commands with
// one (Command.Box); this package is what the processes there are
// made of. A program sees only Spec, [Tier] and, to look at what a command
// changes before it counts, [Layers]:
//
//	layers, err := sandbox.NewLayers(state, project)   // a *LayerError: work on a copy instead
//	defer layers.Remove()
//	task, err := shell.Run(ctx, shellrun.Request{Command: "make gen", Box: &sandbox.Spec{
//		Layers: layers.List, Scratch: []string{home}, Hide: credentials,
//	}})
//	if failure, ok := sandbox.AsLayerError(err); ok { … } // the same, known only to the kernel
//	// layers.List[0].Upper now holds what was changed in project, as overlayfs keeps it
//
// An upper directory holds new and changed files as they are; a deleted one is a
// character device 0:0; a folder with the attribute user.overlay.opaque=y
// replaces the one below. Files that only had their mode or time changed are
// there whole. A folder that exists below cannot be renamed (EXDEV). A file of a
// user or group that the box does not know cannot be changed (EOVERFLOW).
//
// # The box
//
// A box is a process that leads its own user, mount, process, network and IPC
// namespaces ([NewBox]). Users keep their ids, so that owners look as usual; root
// keeps all ids. The box starts as a copy of what is outside. For each Spec one
// thread makes a room of it ([Box.Enter]): a mount namespace of its own where all
// is read-only but what the Spec says, with private /tmp, /var/tmp, /dev/shm and
// /run, a /dev with six devices, and the /proc of the box; then it gives up its
// capabilities and enters a Landlock domain and a seccomp filter. Every process
// that the thread starts inherits all of it, so that a confined command costs no
// more than any other. A Spec with Layers gets a room for one command.
//
// All rooms share one process and one network namespace: a server that one
// command has started is there for the next, whatever its Spec. What keeps rooms
// apart is Landlock: a process of one room cannot look into one of another, and
// with KeepSignals not signal it. Without Landlock each Spec has its own box.
//
// The network has a loopback interface and nothing else. On its port 3128 the
// [Proxy] listens, which runs outside: the box makes the socket and hands it
// over. Each command has a password of its own for it in its environment.
//
// # What it does not do
//
// A Spec with [Open] has the network of the machine. Sockets in the file system
// can be connected to where they can be seen: private directories hide the usual
// places (/run, /tmp), and a layer makes those below it unreachable. A protected
// path that does not exist can be made while a command runs, and is moved away at
// its end. A hidden file that another program replaces is visible to commands
// that are running, not to the next. See docs/sandbox.md.
//
// The functions for whole processes and threads ([NewBox], [Box.Enter],
// [EnterLandlock]) change the calling process or thread for good. All others are
// safe for concurrent use.
package sandbox

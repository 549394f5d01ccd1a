// Package sandbox confines commands with the kernel's own means: namespaces,
// Landlock and seccomp. It needs no helper program and no privileges.
//
// A [Spec] says what a command may touch. Package shellrun starts commands with
// one (Command.Box) and uses the rest of this package to do so. Other programs need
// only Spec, [Tier] and, to see what a command changes before the changes are
// applied, [Layers]:
//
//	layers, err := sandbox.NewLayers(state, project)   // a *LayerError: work on a copy instead
//	defer layers.Remove()
//	task, err := shell.Run(ctx, shellrun.Request{Command: "make gen", Box: &sandbox.Spec{
//		Layers: layers.List, Scratch: []string{home}, Hide: credentials,
//	}})
//	if failure, ok := sandbox.AsLayerError(err); ok { … } // the same, found out only when mounting
//	// layers.List[0].Upper now holds what was changed in project, as overlayfs keeps it
//
// An upper directory holds new and changed files as they are. A deleted file is a
// character device 0:0, and a folder with the attribute user.overlay.opaque=y
// replaces the one below it. A file whose mode or time alone has changed is stored
// whole. Renaming a folder that exists below fails with EXDEV; changing a file of a
// user or group that the box does not know fails with EOVERFLOW.
//
// # The box
//
// A box is a process with its own user, mount, network and IPC namespaces
// ([NewBox]). User ids are the same inside and outside, so files show their usual
// owners; root keeps all ids. At first the box sees what is outside. For each Spec
// one thread makes a room in it ([Box.Enter]): a mount namespace in which everything
// is read-only except what the Spec lists, with a private /tmp, /var/tmp, /dev/shm
// and /run, a /dev with six devices, and the /proc of the box. The thread then drops
// its capabilities and enters a Landlock domain and a seccomp filter. Every process
// that it starts inherits all of this, so starting a confined command costs no more
// than starting any other. A Spec with Layers gets a room for a single command.
//
// All rooms share one network namespace, so that a server started by one command is
// reachable by the next, whatever its Spec. Landlock keeps the rooms apart: a process in
// one room cannot inspect a process in another, and cannot signal it either, except that
// the box sends the signals of commands that may. Where Landlock can do that (Linux 6.12),
// commands see the processes of the machine; elsewhere they share a process namespace, and
// that one of them has listed the processes is reported. Without Landlock, each Spec has
// its own box.
//
// The network has only a loopback interface. The [Proxy] listens on its port 3128 but
// runs outside: the box makes the socket and hands it over. Each command gets its own
// password for the proxy in its environment.
//
// Connections, signals and changes of files that the box stops are seen at the system call
// ([Watcher]), so that a result can name them whatever the command printed.
//
// # What it does not do
//
// A Spec with the network [Open] uses the machine's network. A command can connect to
// any socket in the file system that it can see: the private directories hide the usual
// places (/run, /tmp), and a layer makes the sockets below it unreachable. A protected
// path that does not exist can be created while a command runs; it is moved away when
// the command ends. If another program replaces a hidden file, commands that are already
// running see the new file; later ones do not. See docs/sandbox.md.
//
// [NewBox], [Box.Enter] and [EnterLandlock] change the calling process or thread for
// good. Everything else is safe for concurrent use.
package sandbox

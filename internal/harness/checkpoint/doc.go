// Package checkpoint makes what calls do to files undoable, whatever does it: a
// file tool, a shell command, a server's tool.
//
// A [Keeper] stands around the session's recorder. Before a call that may change
// something it knows how the tree is; after it, what changed is written to the journal
// as checkpoints. A call that only reads costs nothing; for others the tree is listed,
// and only files whose size, times, inode or mode differ are read again. The content of
// a file that is as git has it stays in git's objects; that of others is kept by its
// hash. Files that a call names are kept even where the list does not reach.
//
//	k := checkpoint.New(root, s, nil)
//	left, err := k.Recover(ctx) // what a crash left
//	recorder := k.Recorder(s)   // for sched.Options
//	workspace.Options{OnChange: k.OnChange, …}
//
// [NewPlan] says what a rewind would do, [Plan.Apply] does it.
//
// What is covered: every file, link and directory under the root, except .git, secrets
// and what is inside a directory that is ignored (node_modules, build output): ignored
// files elsewhere are covered. The number of files, the bytes that are kept and the time
// that a look takes are bounded, and a home folder is not looked at as a whole; each of
// these is said. What a rewind does not know it never deletes.
//
// Trust model: it reads and, in a rewind, writes files with the rights of the
// process. Writes stay inside the root whatever links have appeared in it. Blobs
// hold what files held; files that are secret by their name are never copied. Git is
// run to read objects, and neither runs nor fetches anything for it. A Keeper is safe for concurrent use and
// has nothing to close.
package checkpoint

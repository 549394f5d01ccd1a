// Package workspace makes the files of a run from a git repository and stores what becomes of
// them, so that any worker can continue with the same files.
//
//	w, err := workspace.Open(ctx, &workspace.Options{Dir: dir, Run: id, Spec: spec, Blobs: blobs, Last: last})
//	point, err := w.Store(ctx, call) // after each call that may have changed files
//	err = w.Close()
//
// A [Point] names a commit whose tree is the files byte for byte, with the branches of the
// repository as parents. What the repository does not have is kept as packs in the fleet's own
// store, which outlives the worker; the repository is only read, unless [Workspace.Push] is called.
//
// What is stored: every file and link of the folder that git does not ignore, the branches, and
// which one is checked out. What is not: ignored files, empty folders, what is only staged, stashes,
// submodules and nested repositories, secrets by their names, and files of more than 64 MB. Files
// that are not stored although git does not ignore them are listed in the point.
//
// A folder has one user: it is locked, and a folder with changes that are not stored is moved
// aside and reported, never deleted.
//
// Trust model: commands of the run may write anything into the folder, its .git included. Git is
// therefore never run with the configuration or the hooks of that repository: a second one beside
// the folder has the objects, and the folder's repository is only fetched from. A Workspace is
// safe for concurrent use.
package workspace

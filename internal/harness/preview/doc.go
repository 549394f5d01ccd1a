// Package preview runs a command without letting it happen: what it changes is
// read, shown and then applied or dropped.
//
//	r, err := preview.Run(ctx, preview.Request{Shell: shell, Command: shellrun.Request{Command: "make gen"}, Dirs: []string{project}, Store: state})
//	defer r.Drop()
//	shown, err := r.Preview(ctx)             // for the user; its digest is what an approval is worth
//	err = r.Apply(ctx, session, callID)      // all of it or nothing; rewind to callID undoes it
//
// # How a change is found
//
// The command runs in a box (package sandbox) with an overlay on each folder. The
// upper directories hold what it changed; what was there before is read from the
// folders themselves, right after the run. A file that another program changed
// while the command ran, as its change time shows, has no known state before the
// run: such a file makes the whole preview a [ConflictError]. The list costs as
// much as was changed, however large the folder is.
//
// Where the kernel refuses the overlay, or the command met what an overlay cannot
// do (renaming a folder), the command runs in a copy of the folders instead, as
// long as they are small enough: see [Request.MaxCopyFiles].
//
// # How it is applied
//
// By [checkpoint.Plan], which is all or nothing, is finished by the next start if
// the process is killed, follows no link, and is the checkpoint of the call at the
// same time. A text file that another program changed between the run and the
// approval is merged; that is another change than the one that was shown, so its
// digest differs. What cannot be merged is a ConflictError, and nothing is written.
//
// # Trust model
//
// The command is hostile: it plants links, devices, attributes and names for
// whoever reads the upper directory. Nothing in it is followed, devices and sockets
// are left out and reported, and the attributes that mark a folder as replaced are
// those of the kernel: a command that sets them gets others. Names are raw bytes;
// front ends make them visible. What is shown is what is applied: contents are
// read again and compared with the digest that was shown.
//
// # Tests
//
// The table in docs/preview.md is shown by TestDeveloperWorkIsAppliedAsItRuns,
// TestAppliedIsWhatAPlainRunMakes, TestKilledWhileApplying, TestEditsOfOthersAreNeverLost,
// hostile_linux_test.go and TestAsAnOrdinaryUser. HAFT_PREVIEW_RANDOM,
// HAFT_PREVIEW_KILLS and HAFT_PREVIEW_EDITS set the number of runs.
//
// A Result is safe for use by one goroutine at a time.
package preview

// Package runs is what a fleet knows about its sessions beside their journals: which there
// are and how they are, the prompts that wait, and the tasks that workers take.
//
//	r := runs.New(conn, "default")
//	id, err := r.Submit(ctx, &runs.Submission{Dir: dir, Prompt: runs.Prompt{Text: "…"}})
//	out, err := r.Await(ctx, id, prompt)
//
// A prompt is accepted once for each of its UUIDs and has one outcome: the first. A task says
// that a session has something to do; there is at most one for each session. Everything here
// can be made again from the journals and the prompts.
//
// [Runs] are safe for concurrent use.
package runs

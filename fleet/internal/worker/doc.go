// Package worker takes runs from a fleet and leads their turns with the same harness as haft.
//
//	err := worker.Run(ctx, &worker.Options{Conn: conn, Tenant: "default", Slots: 4, …})
//
// A worker holds a lease on each run that it leads and renews it. The lease only says who
// should try: what keeps two workers apart is the fence of the journal. A worker that was
// taken for dead finds out at its next entry, ends its commands and writes nothing. When ctx
// ends, it takes no more runs, gives those that it leads time to finish their turns, and hands
// the rest back.
//
// Trust model: commands run on this machine with the rights of the worker's process, held by
// the same permissions and confinement as haft's. The prompts, the flags and the folder come
// from whoever may submit to the fleet.
package worker

// Package sched takes tool calls from a model's message to their results.
//
// Every call, whether of a built-in tool, an MCP server or a sub-agent, takes
// one way: the tool is looked up, the input is read and checked, the tool checks
// its meaning, hooks see it, the permission is decided, the tool runs, hooks see
// the result, and the result is bounded. Nothing takes effect before the verdict.
//
// Many calls of one message make a [Batch]. A call may start as soon as its input
// is complete, while the model is still writing. Calls that are safe beside each
// other share; any other runs alone, and calls start in the order of the message.
// The model gets results in that order; a [Feed] gets each when it is there.
//
// Every call gets exactly one [Outcome], whatever happens to it.
//
//	s := sched.New(&sched.Options{Judge: judge, Askers: askers})
//	b := s.Start(ctx, &sched.BatchOptions{Tools: set})
//	in := b.Open(id, "Read") // a tool_use block begins
//	in.Write(delta)          // its input arrives
//	in.Close()               // the block ends: the call is queued
//	b.End()                  // the message ends
//	for out := range b.Outcomes() { … }
//
// A Scheduler and a Batch are safe for concurrent use. A Batch needs its End;
// after it, and after the last outcome was taken, nothing is left running, but
// for a tool that ignored its cancellation past the grace.
package sched

// Package sched runs the tool calls of a model's message and returns their results.
//
// Every call, whether of a built-in tool, an MCP server or a sub-agent, goes through
// one pipeline: the tool is looked up, the input is parsed and checked, the tool
// checks its meaning, hooks see it, permission is decided, the tool runs, hooks see
// the result, and the result is limited. Nothing takes effect before the verdict.
//
// The calls of one message are a [Batch]. A call may start as soon as its input is
// complete, while the model is still writing. Calls that are safe to run together do;
// any other call runs alone. What a call may run beside is found out when it is its turn,
// with everything else that is known of it before it runs; see [tool.Facts]. Calls start in
// the order of the message, and the model gets results in that order; a [Feed] gets each
// result when it is ready.
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
// A Scheduler and a Batch are safe for concurrent use. End must be called on every
// Batch. After that, and after the last outcome was read, nothing is left running,
// except a tool that ignored its cancellation for longer than the grace period.
package sched

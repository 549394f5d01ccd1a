// Package agent is the loop: the model answers, its calls run while it is still
// speaking, their results go back, until it has nothing more to do.
//
//	a, err := agent.New(&agent.Options{Model: m, Tools: set, Sched: pipeline, Session: s})
//	a.Send(agent.Prompt{Content: …})
//	for ev, err := range a.Run(ctx) { … } // until nothing is queued
//
// What happens is told as one stream of events; every front end, the wire and
// the SDK derive from it what they show. Whatever happens, a turn ends with
// exactly one [Result], and leaves a conversation that can be sent.
//
// An Agent is safe for concurrent use: prompts, interrupts and settings may come
// from anywhere while one goroutine ranges over Run.
package agent

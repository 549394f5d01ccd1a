// Package agent is the agent loop: the model answers, its calls run while it is still
// writing, their results go back, and so on until it is done.
//
//	a, err := agent.New(&agent.Options{Model: m, ModelName: name, Tools: set, Sched: pipeline, Journal: s})
//	a.Send(agent.Prompt{Content: …})
//	for ev, err := range a.Run(ctx) { … } // until nothing is queued
//
// The agent reports what happens as one stream of events, from which every front
// end, the wire and the SDK derive what they show. Whatever happens, a turn ends with
// exactly one [Result], and leaves a conversation that can be sent: every call has its
// result, the two sides take turns, and no message is empty.
//
// Everything is written to the [Journal] before it happens. If something cannot be recorded,
// it is not done, and the turn ends.
//
// The loop depends on no particular tool, provider or front end: it is given a set of tools, a
// pipeline for calls, a model, and hooks. Package internal/harness/sysprompt/prompt writes what the model is told
// about its environment.
//
// An Agent is safe for concurrent use: prompts, interrupts and settings may come from any
// goroutine while one goroutine ranges over Run. Between turns it holds no resources except
// memory. The caller closes the journal after [Agent.Close].
package agent

// Package agent is the loop: the model answers, its calls run while it is still
// speaking, their results go back, until it has nothing more to do.
//
//	a, err := agent.New(&agent.Options{Model: m, ModelName: name, Tools: set, Sched: pipeline, Journal: s})
//	a.Send(agent.Prompt{Content: …})
//	for ev, err := range a.Run(ctx) { … } // until nothing is queued
//
// What happens is told as one stream of events; every front end, the wire and
// the SDK derive from it what they show. Whatever happens, a turn ends with
// exactly one [Result], and leaves a conversation that can be sent: every call
// has its result, the two sides take turns, nothing is empty.
//
// What is about to happen is in the [Journal] before it happens. What cannot be
// written down does not happen, and ends the turn.
//
// The loop knows no tool, no provider and no front end: it is given a set of
// tools, the way that calls take, a model, and hooks. What a conversation is told
// about its surroundings is the business of package agent/prompt.
//
// An Agent is safe for concurrent use: prompts, interrupts and settings may come
// from anywhere while one goroutine ranges over Run. Between turns it holds memory
// and nothing else. The caller closes the journal after [Agent.Close].
package agent

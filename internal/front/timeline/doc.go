// Package timeline is what a session looks like to those who watch it: a fold of its
// journal into items (prompts, texts, calls), with the life of each call, turns with
// their cost, and lanes, one per agent.
//
//	v, err := timeline.Load(ctx, path)
//
// A View holds the beginning of each text and where the whole of it is in the journal,
// so that a session of a hundred thousand entries fits in memory. A View belongs to one
// goroutine.
//
// Trust model: everything in a view is untrusted text, which the one who shows it makes
// harmless.
package timeline

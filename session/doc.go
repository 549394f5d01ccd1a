// Package session is the memory of a conversation: an append-only journal from
// which everything else about it can be derived.
//
// What is about to happen is written before it happens: the model's answer
// before its calls run, a verdict before it counts, a call before it is
// dispatched, its result as soon as it is there. A journal that was cut at any
// byte, by a crash or a full disk, is therefore one that can be resumed: every
// call is known to have run, not to have run, or to have an unknown outcome, and
// the model is told which.
//
// The file has one JSON object per line and the layout that the official SDK
// reads; see docs/sessions.md.
package session

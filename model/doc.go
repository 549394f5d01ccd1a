// Package model defines how haft talks to a language model: the messages of a
// conversation, and the stream in which an answer arrives. Its types follow the Messages
// API, which is the richest one; a client for another API translates.
//
//	for ev, err := range m.Stream(ctx, &model.Request{Model: name, Messages: h, …}) {
//		…
//	}
//
// A [Model] is safe for concurrent use. A [History] belongs to one conversation;
// requests only read it.
//
// The packages below it are the clients (anthropic, openai); provider, which chooses
// among them; and script, a scripted model served over HTTP for demos and tests.
package model

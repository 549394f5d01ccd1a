// Package model is how haft speaks with a language model: what is said, and the
// stream in which an answer arrives. Its forms are those of the Messages API,
// because they are the richest of those that exist; a client for another API
// translates.
//
//	for ev, err := range m.Stream(ctx, &model.Request{Model: name, Messages: h, …}) {
//		…
//	}
//
// A [Model] is safe for concurrent use. A [History] belongs to one conversation;
// the requests that it goes into only read it.
//
// The packages below are the clients (anthropic, openai), retry, which makes one
// patient, catalog, which is what is known of models, provider, which chooses
// among them, and script: a model that says what a file tells it to, served over
// HTTP for demos and tests.
package model

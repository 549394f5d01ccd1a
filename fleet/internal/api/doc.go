// Package api puts the API of 'haft serve' in front of a fleet: its [Backend] is where that
// server's sessions are.
//
//	b, err := api.Open(ctx, &api.Options{Conn: conn, Tenant: "default", Dir: dir})
//	s := serve.New(&serve.Options{Backend: b, …})
//
// It writes to no session that a worker leads. Prompts are submitted, questions are answered
// in the engine, where the first answer counts, and requests go to the worker by its live
// channel. Journals are copied into files as they grow; places in them are the ids of
// events, the same behind every server. Several may serve one fleet.
//
// A [Backend] is safe for concurrent use.
package api

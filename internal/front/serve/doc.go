// Package serve is the server behind 'haft serve': an HTTP API and a page to watch and
// steer sessions.
//
//	s := serve.New(&serve.Options{Token: token, …})
//	err := s.Serve(ctx, listener)
//
// It is a bridge and keeps nothing of its own. A session is watched by following its
// journal, so every event can be read again from its position, also after a restart. A
// session that another process leads is steered through its live channel (package live);
// one that this server creates or resumes runs here, on the harness that every front end
// has (package headless). docs/serve.md has the API.
//
// Trust model: who has the token is the user, with less power than at the terminal: the
// API neither changes settings, nor trusts a folder, nor turns permissions off. Everyone
// else is refused: other hosts' names (DNS rebinding), other sites' pages, wrong tokens.
// Everything in a session is hostile text; it leaves as JSON, never as HTML. A Server is
// safe for concurrent use.
package serve

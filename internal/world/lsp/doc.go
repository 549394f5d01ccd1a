// Package lsp talks to language servers: programs that know what a name in a source
// file means.
//
//	servers := lsp.NewServers(host, &lsp.Options{Roots: roots})
//	client, err := servers.For(ctx, "/project/main.go") // starts the server if need be
//	locations, err := client.Definition(ctx, "/project/main.go", lsp.Position{Line: 11, Character: 5})
//
// A server starts with the first question about a file of its language and stays for
// the next. What is asked about is what is on the disk: before each question the files
// that changed since are sent again. All types are safe for concurrent use. The host
// is the caller's to close and ends the servers.
//
// Trust: a server is a program of the user's, never downloaded. It reads the project,
// and some run what the project says, as go list and rustc do; what confines it is
// [Options.Box]. What it sends is not trusted: a message has a bounded size and depth,
// what is kept of it is bounded, every question ends at a time limit, and a server that
// breaks the protocol is ended.
package lsp

// Package headless serves one conversation to a program: prompts and control
// requests come in as messages of package wire, what happens goes out as such.
// The official SDKs start the command and speak this with it over a pipe; a Go
// program that embeds haft speaks it in memory.
//
//	code := headless.Serve(ctx, stream, &headless.Options{…})
//
// Everything that goes out is written by one goroutine at a time, in the order in
// which it happened. Whatever happens, every turn ends with one result, and the
// process can end when Serve returns: nothing is left running.
package headless

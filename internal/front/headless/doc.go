// Package headless serves one conversation to a program: prompts and control
// requests come in as messages of package wire, and what happens goes out as such.
// The official SDKs start the command and use a pipe; a Go program that embeds haft
// uses memory.
//
//	code := headless.Serve(ctx, stream, &headless.Options{…})
//
// Messages are written by one goroutine at a time, in the order of events. Whatever
// happens, every turn ends with one result. When Serve returns, nothing is left
// running, and the process can exit.
package headless

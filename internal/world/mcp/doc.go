// Package mcp is a host for MCP servers: it starts them or connects to them, keeps them
// running, and offers their tools as [tool.Tool] values beside the built-in ones.
//
//	host := mcp.NewHost(&mcp.Options{Runner: runner})
//	defer host.Close()
//	host.Start(servers)  // returns at once
//	host.Tools()         // those of the servers that have connected so far
//
// A Host never makes its caller wait: Start returns at once, a slow or broken server does not
// affect the others, and its tools are added when it has connected (Options.OnChange). To wait
// for all servers, call [Host.Wait].
//
// Every server has one supervisor, which connects, speaks either era of the protocol
// (2025-11-25 and 2026-07-28), restarts a crashed server with increasing pauses, and meanwhile
// keeps what it knows of the server. The names and the order of tools depend only on the
// servers' names and lists.
//
// All methods of a Host are safe for concurrent use. Close ends every server
// together with everything it started.
//
// # What is trusted
//
// Nothing that a server says. Its names are normalised, invisible characters are removed from
// its descriptions, tools with invalid schemas are left out, messages are limited in size, and
// anything that is not JSON-RPC is skipped, counted and reported. Its hints about its tools
// relax no check unless its configuration says that it is trusted. A server process gets a
// short list of harmless environment variables and those that its entry names. Unless
// Options.Box confines it, it may do whatever the user may. Options.Approve decides whether an
// entry may be started at all.
package mcp

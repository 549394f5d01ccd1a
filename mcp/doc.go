// Package mcp is a host of MCP servers: it starts them or connects to them,
// keeps them alive, and offers their tools as [tool.Tool] values beside the
// built-in ones.
//
//	host := mcp.NewHost(&mcp.Options{Runner: runner})
//	defer host.Close()
//	host.Start(servers)  // returns at once
//	host.Tools()         // those of the servers that are there by now
//
// A Host never makes its caller wait: Start returns at once, a server that is slow or
// broken costs the others nothing, and its tools join when it is there
// (Options.OnChange). [Host.Wait] is for those who would rather wait.
//
// Every server has one supervisor, which connects, speaks either era of the
// protocol (2025-11-25 and 2026-07-28), starts a crashed server again with
// growing pauses, and keeps what it knew while it does: the names and the order
// of tools depend on nothing but the servers' names and lists.
//
// All methods of a Host are safe for concurrent use. Close ends every server
// together with everything it started.
//
// # What is trusted
//
// Nothing that a server says. Its names are normalised, its descriptions
// stripped of characters that people do not see, its schemas checked one by one
// and the broken ones left out, its messages bounded, and whatever is not
// JSON-RPC is skipped, counted and shown. Its hints about its tools lower no
// guard unless its configuration says that it is trusted. A server process gets
// a short list of harmless environment variables and what its entry names; it
// is not confined otherwise: it may do what the user may. Whether an entry may
// be started at all is for Options.Approve to say.
package mcp

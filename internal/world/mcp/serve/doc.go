// Package serve offers tools to other programs as an MCP server, over standard streams or
// HTTP, to clients of either era of the protocol (2025-11-25 and 2026-07-28) at the same
// endpoint.
//
//	s, err := serve.New(tools, caller, &serve.Options{Version: "1.0"})
//	err = s.Stdio(ctx, os.Stdin, os.Stdout)
//	// or
//	http.Serve(listener, s.Handler(&serve.HTTPOptions{Token: token}))
//
// A [Caller] takes each call through the same pipeline as a model's calls, so that the same
// rules and hooks apply to every caller. If the rules require asking a user, the server asks
// the client's user through elicitation; a client that cannot ask is told why the call was
// denied. An approval is bound to the tool and the input that it was given for, and to this
// server process.
//
// A long call of a client that supports the tasks extension becomes a task, which the client
// polls until it is done. Tasks are lost when this process ends.
//
// Progress of a call becomes progress notifications. A call ends, with everything that it
// started, when the client cancels it, closes the stream of the call (2026-07-28), or
// disconnects (stdio).
//
// A Server is safe for concurrent use. Stdio returns when its client disconnects. For a
// Handler, call [Server.Close] to end running calls.
//
// # What is trusted
//
// A program that can reach the server can call its tools, within the rules, and answers the
// questions that the rules leave open. On stdio, that is the program that started the server.
// Over HTTP, it is every program that knows the token. Without a token, it is every program on
// this machine, including those of other users, so such a handler answers only on loopback
// addresses. Pages in a browser are refused because of their Origin and the Host they ask for,
// even if a name resolves to a loopback address.
package serve

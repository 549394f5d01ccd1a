// Package serve offers tools to other programs as an MCP server, over standard
// streams or HTTP, to clients of either era of the protocol (2025-11-25 and
// 2026-07-28) at one and the same endpoint.
//
//	s, err := serve.New(tools, caller, &serve.Options{Version: "1.0"})
//	err = s.Stdio(ctx, os.Stdin, os.Stdout)
//	// or
//	http.Serve(listener, s.Handler(&serve.HTTPOptions{Token: token}))
//
// A [Caller] takes each call through the pipeline that a model's calls take, so
// that the same rules and hooks hold for every caller. Where the rules want a user
// asked, the client is asked by elicitation, which asks the client's user; a client
// that cannot ask is told why the call was denied. An approval is bound to the
// tool and the input that it was given for, and to this server process.
//
// A long call of a client that knows the tasks extension becomes a task, which the
// client looks at until it is over; it lives in this process and is forgotten with it.
//
// Progress of a call becomes progress notifications. A call ends, with all that it
// started, when the client cancels it, closes the stream it is on (2026-07-28), or
// is gone (stdio).
//
// A Server is safe for concurrent use. Stdio returns when its client is gone; a
// Handler needs [Server.Close] to end what runs.
//
// # What is trusted
//
// A program that can reach the server can call its tools, within the rules, and answers
// the questions that the rules leave open. On stdio that is the program that
// started it. Over HTTP it is every program that knows the token; without a token every one
// on this machine, its other users included, which is why a handler without one
// answers loopback addresses only. Pages in a browser are kept out by their Origin
// and by the Host they ask for, also when a name leads to a loopback address.
package serve

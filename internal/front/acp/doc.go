// Package acp serves conversations to an editor: it speaks version 1 of the Agent
// Client Protocol over two streams, as one more front end of the harness.
//
//	err := acp.Serve(ctx, os.Stdin, os.Stdout, &acp.Options{…})
//
// A connection has any number of sessions, each with a world of its own. What happens in
// one goes out in the order in which it happened, and a prompt is answered after
// everything that belongs to it. The output carries messages of the protocol and nothing
// else. docs/acp.md says what every method means here.
//
// Trust: the client is the user's editor, and may do what the user may. A client that
// sends nonsense, too much or nothing is answered by errors of the protocol, and harms only
// itself; when it is gone, everything that its sessions started is ended before Serve
// returns. What a client does not answer is not allowed.
package acp

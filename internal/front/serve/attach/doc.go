// Package attach is the other end of 'haft serve' for a terminal: it shows a session of a
// server as the stream of messages that the channel of a session on this machine is
// (package live), so that one front end serves both.
//
//	server := &attach.Server{URL: "http://127.0.0.1:7420", Token: token}
//	row, err := server.Find(ctx, id)
//	stream := server.Open(ctx, row)
//	defer stream.Close()
//
// Events are resumed where they ended when the connection is lost. A question is a
// can_use_tool or elicitation request, which is taken back when someone else has answered
// it. A Stream is read by one goroutine and written to by many.
package attach

// Package tunnel makes connections over NATS, for those who can reach the engine but not
// each other: a worker's live sessions for the API, and a program's conversation for a
// worker.
//
//	l, err := tunnel.Listen(nc, "live.default.ID")
//	conn, err := tunnel.Dial(ctx, nc, "live.default.ID")
//
// A connection is a [net.Conn]. The engine keeps nothing of it: what is lost on the way ends
// it, and so does the silence of the other side. Who may connect is decided by who may
// publish to the subject.
package tunnel

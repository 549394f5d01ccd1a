// Package live lets others watch a session that runs, and steer it: in a terminal
// (haft attach), in a browser (haft serve), in a program.
//
// The process that leads a conversation opens a channel for it: a unix socket that only
// its user can connect to and that speaks package wire. An observer first sends observe
// with a position of the journal. It gets what the journal has from there on, as messages
// of the wire, each batch followed by its position; besides that what is not in the
// journal, such as the pieces of an answer while it arrives. It may send prompts and
// control requests. One that can be asked gets can_use_tool requests: the first answer
// counts, wherever it comes from, and the other requests are taken back.
//
//	conn, err := live.Dial(ctx, path)       // of a session's journal
//	defer conn.Close()
//
// The socket is made when a session has lasted a moment, or asks its first question, so
// that a short run does not pay for it. An observer that does not read is disconnected
// and can resume at its last position. Channels and connections are safe for concurrent
// use.
//
// Trust model: who connects is the user: the socket is in a folder that is theirs alone,
// and the kernel is asked who the other side is. An observer can do what the user at the
// terminal can, but neither change settings nor trust a folder.
package live

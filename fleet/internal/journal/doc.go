// Package journal keeps the journals of sessions in JetStream.
//
//	logs := journal.New(conn, "default", nil)
//	store := session.OpenLogs(logs, dir)
//
// Each append is one message on the subject of the conversation, accepted only if the message
// before it is the last: that is the fence. A message holds the hash of itself and of the one
// before, so that what is missing in between is found; a witness beside the journal says how
// far it was known to go, so that a lost end is found, too. Both are a [DamagedError]: the
// session is then put aside and never shown as if it were whole.
//
// [Logs] are safe for concurrent use.
package journal

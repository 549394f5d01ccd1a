// Package wire is the stream-json protocol between an agent's command line and
// the program that drives it: one JSON object per line, events and user
// messages both ways, and control requests that either side answers.
//
// A line is a [Message], a tagged union: the JSON field "type", and for system
// messages "subtype" too, says which Go type it is.
//
//	switch m := m.(type) {
//	case *wire.Init:
//	case *wire.Assistant:
//	case *wire.Result:
//	case *wire.Unknown: // of a newer version; its line is kept
//	}
//
// [Decode] and [Encode] turn lines into messages and back. What this package
// does not know is never an error and never lost: a message of an unknown type
// is an [Unknown], unknown fields of a known message or request are its Extra,
// and content of models and tools stays JSON. A message must be encoded with
// Encode or a [Writer]; encoding/json alone would leave its type out.
//
// A [Reader] and a [Writer] do lines, a [Conn] adds control requests: it keeps
// those that wait for an answer, answers those of the other side, and hands on
// the rest. Both sides use the same Conn; the two directions differ only in the
// requests that have a meaning. The catalogue of everything is [Kinds] and
// [Requests]; docs/wire.md and docs/wire.schema.json are made from it.
//
// Writers and Conns are safe for concurrent use, Readers are not. None of them
// closes the streams they were given. Messages are plain values: the sender
// must not change one afterwards.
package wire

// Package wire is the stream-json protocol between an agent's CLI and
// the program that drives it: one JSON object per line, events and user
// messages both ways, and control requests that either side answers.
//
// A line is a [Message], a tagged union: the JSON field "type", and for system
// messages also "subtype", determines its Go type.
//
//	switch m := m.(type) {
//	case *wire.Init:
//	case *wire.Assistant:
//	case *wire.Result:
//	case *wire.Unknown: // of a newer version; its line is kept
//	}
//
// [Decode] and [Encode] convert between lines and messages. Unknown input is never an
// error and never lost: a message of an unknown type is an [Unknown], unknown fields of
// a known message or request are in Extra, and content of models and tools stays JSON. A message must be encoded with
// Encode or a [Writer]; encoding/json alone would leave its type out.
//
// A [Reader] and a [Writer] handle lines. A [Conn] adds control requests: it tracks
// those that wait for an answer, answers those of the other side, and passes on the
// rest. Both sides use the same Conn; they differ only in the requests that they
// understand. [Kinds] and [Requests] list everything; docs/wire.md and
// docs/wire.schema.json are generated from them.
//
// Writers and Conns are safe for concurrent use, Readers are not. None of them
// closes the streams they were given. Messages are plain values: the sender
// must not change one afterwards.
package wire

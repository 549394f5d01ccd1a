// Package jsonstream reads the input of a tool call while a model is still
// writing it.
//
// A model streams a tool's input as chunks of one JSON object, cut at arbitrary
// bytes. [Object] takes the chunks as an [io.Writer] and reports the first fault as
// soon as it has come:
//
//	in := jsonstream.New(nil)
//	for chunk := range chunks {
//		if _, err := in.Write(chunk); err != nil {
//			break
//		}
//	}
//	input, err := in.Close()
//
// Each byte is looked at once. Memory is what was received and the keys of the open
// objects; at worst, for millions of tiny keys, about eight times
// the input, which [Options] bounds.
//
// The grammar is that of encoding/json for a single object, and stricter in three
// ways, each because the lenient reading changes a value behind the model's back:
//
//   - A key may occur once in an object, at any depth. A second value could slip
//     past a check that looked at the first.
//   - Text must be valid UTF-8. encoding/json would put U+FFFD in place of a bad
//     byte, and so into an edited file.
//   - A surrogate escape such as \ud83d must be half of a pair, for the same reason.
//
// Every error is an [*Error], worded for the model that has to send the input again.
//
// An Object belongs to one goroutine. It holds nothing but memory: an abandoned one
// need not be closed. Bytes and strings it hands out never change later; callers
// must not write to them.
package jsonstream

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Defaults of [Options].
const (
	defaultMaxBytes = 32 << 20
	defaultMaxDepth = 128
)

// Options bounds what an [Object] accepts.
type Options struct {
	// MaxBytes caps the whole input, white space included. Zero means 32 MiB.
	MaxBytes int
	// MaxDepth caps the nesting of objects and arrays, the outermost object
	// counted. Zero means 128. encoding/json itself gives up beyond 10000.
	MaxDepth int
}

// An Object reads one JSON object from chunks. Make one with [New].
type Object struct {
	machine
	maxBytes int
	received int64 // what was written, including what maxBytes cut off
}

// New returns an Object that has received nothing. A nil opts means all defaults.
func New(opts *Options) *Object {
	o := &Object{maxBytes: defaultMaxBytes}
	o.maxDepth = defaultMaxDepth
	if opts != nil && opts.MaxBytes > 0 {
		o.maxBytes = opts.MaxBytes
	}
	if opts != nil && opts.MaxDepth > 0 {
		o.maxDepth = opts.MaxDepth
	}
	o.stack = []frame{{object: true}}
	o.stack[0].keys.names = make([]string, 0, linearKeys)
	return o
}

// Write reads the next chunk. The first error sticks: later chunks are kept for
// [Object.Raw] and for the excerpt in the error, and read no further.
func (o *Object) Write(p []byte) (int, error) { return receive(o, p) }

// WriteString is [Object.Write] for a string.
func (o *Object) WriteString(s string) (int, error) { return receive(o, s) }

func receive[T []byte | string](o *Object, chunk T) (int, error) {
	o.received += int64(len(chunk))
	n := min(len(chunk), o.maxBytes-len(o.raw))
	if o.raw == nil {
		o.raw = make([]byte, 0, max(n, 512)) // most inputs fit, and grow no further
	}
	o.raw = append(o.raw, chunk[:n]...)
	o.run()
	if n < len(chunk) && o.err == nil {
		o.failTooLarge(o.maxBytes)
	}
	return n, o.report()
}

// steps has one function for each state, called with the byte at pos.
var steps = [...]func(*machine, byte){
	atStart:        (*machine).start,
	atFirstKey:     (*machine).firstKey,
	atKey:          (*machine).key,
	atColon:        (*machine).colon,
	atValue:        (*machine).beginValue,
	atFirstElement: (*machine).firstElement,
	afterValue:     (*machine).separator,
	atEnd:          (*machine).trailing,

	inText:      (*machine).textByte,
	inEscape:    (*machine).escape,
	inHex:       (*machine).hex,
	atLow:       (*machine).low,
	atLowEscape: (*machine).lowEscape,
	inRune:      (*machine).continuation,

	inMinus:        (*machine).number,
	inZero:         (*machine).number,
	inInteger:      (*machine).number,
	inPoint:        (*machine).number,
	inFraction:     (*machine).number,
	inExponent:     (*machine).number,
	inExponentSign: (*machine).number,
	inPower:        (*machine).number,

	inLiteral: (*machine).literalByte,
}

// Close says that no more will come and returns the object, without the white space
// around it. Input that is empty or only white space means {}, which is how models
// call a tool without parameters. Input that ends early is an error.
func (o *Object) Close() (json.RawMessage, error) {
	switch {
	case o.err != nil || o.state == atEnd:
	case o.state == atStart:
		o.state = atEnd
	default:
		o.failTruncated()
	}
	switch {
	case o.err != nil:
		return nil, o.report()
	case o.whole == span{}:
		return json.RawMessage("{}"), nil
	}
	return o.slice(o.whole), nil
}

// Raw returns everything received so far, up to the cap, also after an error.
func (o *Object) Raw() []byte { return o.slice(span{0, len(o.raw)}) }

// slice has no spare capacity, so that an append by the caller cannot reach raw.
func (o *Object) slice(s span) []byte { return o.raw[s.start:s.end:s.end] }

// report returns the error, if any, as it reads with all that is known by now: what
// followed the fault is often what explains it, and may come in a later chunk.
func (o *Object) report() error {
	if o.err == nil {
		return nil
	}
	e := *o.err
	e.Size = o.received
	e.Excerpt = excerpt(o.raw, int(e.Offset))
	if o.unexpected && e.Found == "" {
		e.Found = describe(o.raw[e.Offset:])
	}
	return &e
}

// describe names the first rune of p in a sentence.
func describe(p []byte) string {
	r, size := utf8.DecodeRune(p)
	switch {
	case r == utf8.RuneError && size == 1:
		return fmt.Sprintf("byte 0x%02x", p[0])
	case r == '\n':
		return "a line break"
	case r == '\r':
		return "a carriage return"
	case r == '\t':
		return "a tab"
	case r == '\'':
		return "a single quote"
	case !strconv.IsPrint(r):
		return fmt.Sprintf("U+%04X", r)
	}
	return "'" + string(r) + "'"
}

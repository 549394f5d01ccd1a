// Package plainjson is JSON as people and models mean it: it compares values, and
// encodes them without the escapes that only HTML needs, because code and shell commands are full of
// <, > and &. It is safe for concurrent use.
package plainjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
)

// Marshal is json.Marshal without these escapes. A value with a method EncodedJSON is made of JSON already and is not read
// again: what the method returns is valid, and in one line.
func Marshal(v any) ([]byte, error) {
	if e, ok := v.(interface{ EncodedJSON() ([]byte, error) }); ok {
		return e.EncodedJSON()
	}
	var out text
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out, []byte("\n")), nil
}

// text is what an encoder writes, which it does once: it is as long as that.
type text []byte

func (t *text) Write(p []byte) (int, error) {
	*t = append(*t, p...)
	return len(p), nil
}

// Indented is a JSON text for people, with a line for each field. What is no JSON stays as
// it is.
func Indented(raw []byte) string {
	v, err := decode(raw)
	if err != nil {
		return string(raw)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return string(raw)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// Same reports whether two texts are the same JSON value: white space, escapes and the
// order of fields do not count, every digit of a number does. A text that is no JSON is
// the same as itself.
func Same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errX := decode(a)
	y, errY := decode(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

var errMore = errors.New("there is more than one value")

// decode reads one value and nothing after it.
func decode(raw []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // as floats, large numbers would be taken for each other
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errMore
	}
	return v, nil
}

// Package envelope reads the outer form of JSON-RPC messages without decoding
// what is in them: a result of ten megabytes is found, not copied.
//
// Scan is strict about what is not JSON and lenient about everything else. The
// parts of a Message point into the bytes that were scanned.
package envelope

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"strconv"

	"github.com/haftdev/haft/internal/text/plainjson"
)

// A Message is a JSON-RPC message; parts that it does not have are nil.
type Message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

// IsResponse reports whether the message answers a request.
func (m *Message) IsResponse() bool {
	return m.Method == "" && (m.Result != nil || m.Error != nil)
}

// HasID reports whether the message has an id other than null.
func (m *Message) HasID() bool { return m.ID != nil && string(m.ID) != "null" }

var (
	errNotJSON = errors.New("not JSON")
	errNotRPC  = errors.New("JSON, but not JSON-RPC")
)

// Scan reads one message.
func Scan(data []byte) (Message, error) {
	if !plainjson.Valid(data) {
		return Message{}, errNotJSON
	}
	if !isObject(data) {
		return Message{}, errNotRPC
	}
	m := Read(data)
	if m.Method == "" && !m.IsResponse() {
		return m, errNotRPC
	}
	return m, nil
}

// Read reads a message that is known to be valid JSON.
func Read(data []byte) (m Message) {
	var method json.RawMessage
	for key, value := range Fields(data) {
		switch key {
		case "id":
			m.ID = value
		case "method":
			method = value
		case "params":
			m.Params = value
		case "result":
			m.Result = value
		case "error":
			if string(value) != "null" {
				m.Error = value
			}
		}
	}
	if method != nil {
		m.Method, _ = text(method)
	}
	return m
}

// Number returns the id as the number it stands for: some servers send numbers
// back as text.
func (m *Message) Number() (int64, bool) {
	raw := string(bytes.Trim(m.ID, `"`))
	n, err := strconv.ParseInt(raw, 10, 64)
	if err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(raw, 64)
	return int64(f), err == nil && f == float64(int64(f))
}

// Fields yields the fields of a valid JSON object; nothing for another value.
func Fields(data []byte) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		if !isObject(data) {
			return
		}
		i := skipSpace(data, 0) + 1
		for {
			i = skipSpace(data, i)
			if i >= len(data) || data[i] == '}' {
				return
			}
			end := skipValue(data, i)
			key, ok := text(data[i:end])
			if !ok {
				return
			}
			i = skipSpace(data, end) + 1 // the colon
			i = skipSpace(data, i)
			end = skipValue(data, i)
			if end <= i || !yield(key, data[i:end:end]) {
				return
			}
			i = skipSpace(data, end)
			if i < len(data) && data[i] == ',' {
				i++
			}
		}
	}
}

// Elements yields the elements of a valid JSON array; nothing for another value.
func Elements(data []byte) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		i := skipSpace(data, 0)
		if i >= len(data) || data[i] != '[' {
			return
		}
		for i++; ; {
			i = skipSpace(data, i)
			if i >= len(data) || data[i] == ']' {
				return
			}
			end := skipValue(data, i)
			if end <= i || !yield(data[i:end:end]) {
				return
			}
			i = skipSpace(data, end)
			if i < len(data) && data[i] == ',' {
				i++
			}
		}
	}
}

// Field returns one field of a valid JSON object, or nil.
func Field(data []byte, name string) (value json.RawMessage) {
	for key, v := range Fields(data) {
		if key == name {
			value = v // the last of several counts, as for encoding/json
		}
	}
	return value
}

func isObject(data []byte) bool {
	i := skipSpace(data, 0)
	return i < len(data) && data[i] == '{'
}

func text(raw []byte) (s string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
	}
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\r' || data[i] == '\n') {
		i++
	}
	return i
}

// skipValue returns the end of the value that begins at i. It relies on the
// value being valid.
func skipValue(data []byte, i int) int {
	depth := 0
	for i < len(data) {
		switch data[i] {
		case '"':
			i = skipString(data, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

func skipString(data []byte, i int) int {
	for i++; i < len(data); {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return len(data)
		}
		escapes := 0
		for k := i + n - 1; k >= i && data[k] == '\\'; k-- {
			escapes++
		}
		i += n + 1
		if escapes%2 == 0 {
			return i
		}
	}
	return i
}

// IDOf finds the id of a message of which only the beginning is known.
func IDOf(prefix []byte) json.RawMessage {
	i := skipSpace(prefix, 0)
	if i >= len(prefix) || prefix[i] != '{' {
		return nil
	}
	for i++; i < len(prefix); {
		i = skipSpace(prefix, i)
		end := skipValue(prefix, i)
		if end <= i || end >= len(prefix) {
			return nil
		}
		key, _ := text(prefix[i:end])
		i = skipSpace(prefix, skipSpace(prefix, end)+1)
		if i >= len(prefix) {
			return nil
		}
		end = skipValue(prefix, i)
		if end <= i || end >= len(prefix) {
			return nil // the value is cut
		}
		if key == "id" {
			return prefix[i:end:end]
		}
		i = skipSpace(prefix, end) + 1
	}
	return nil
}

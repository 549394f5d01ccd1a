package cloud

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// frames read the binary event stream of AWS as events of the Messages API.
type frames struct {
	from  *bufio.Reader
	close func() error
	text  []byte // what is not read yet of the last event
	err   error
}

// Read implements [io.Reader].
func (f *frames) Read(p []byte) (int, error) {
	for len(f.text) == 0 && f.err == nil {
		f.text, f.err = f.next()
	}
	if len(f.text) > 0 {
		n := copy(p, f.text)
		f.text = f.text[n:]
		return n, nil
	}
	return 0, f.err
}

// Close closes the connection.
func (f *frames) Close() error { return f.close() }

// Bounds of a frame, in bytes: its head, and all of it.
const (
	frameHead = 12
	maxFrame  = 24 << 20
)

var errFrame = errors.New("the answer from Amazon Bedrock is damaged")

// next returns the event of the next frame.
func (f *frames) next() ([]byte, error) {
	head := make([]byte, frameHead)
	if _, err := io.ReadFull(f.from, head); err != nil {
		return nil, err
	}
	total, headers := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[4:])
	if crc32.ChecksumIEEE(head[:8]) != binary.BigEndian.Uint32(head[8:]) || total < frameHead+4 || total > maxFrame || headers > total-frameHead-4 {
		return nil, errFrame
	}
	rest := make([]byte, total-frameHead)
	if _, err := io.ReadFull(f.from, rest); err != nil {
		return nil, fmt.Errorf("%w: %w", errFrame, io.ErrUnexpectedEOF)
	}
	end := len(rest) - 4
	sum := crc32.NewIEEE()
	sum.Write(head)
	sum.Write(rest[:end])
	if sum.Sum32() != binary.BigEndian.Uint32(rest[end:]) {
		return nil, errFrame
	}
	values, err := frameHeaders(rest[:headers])
	if err != nil {
		return nil, err
	}
	return event(values, rest[headers:end])
}

// event is what a frame says, as a line of the Messages API.
func event(headers map[string]string, payload []byte) ([]byte, error) {
	if kind := headers[":message-type"]; kind != "event" {
		var fault struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal(payload, &fault) // what is not JSON has no message
		name := headers[":exception-type"] + headers[":error-code"]
		if fault.Message == "" {
			fault.Message = headers[":error-message"]
		}
		return line(errorEvent(exceptions[name], fmt.Sprintf("%s: %s", name, fault.Message))), nil
	}
	if headers[":event-type"] != "chunk" {
		return nil, nil // nothing that the Messages API has
	}
	var chunk struct {
		Bytes string `json:"bytes"`
	}
	if err := json.Unmarshal(payload, &chunk); err != nil {
		return nil, errFrame
	}
	data, err := base64.StdEncoding.DecodeString(chunk.Bytes)
	if err != nil || !json.Valid(data) {
		return nil, errFrame
	}
	return line(data), nil
}

func line(data []byte) []byte { return append(append([]byte("data: "), data...), "\n\n"...) }

// exceptions are the names that the Messages API has for those of Bedrock.
var exceptions = map[string]string{
	"throttlingException": "rate_limit_error", "serviceUnavailableException": "overloaded_error",
	"validationException": "invalid_request_error",
}

// sizes of the values of headers by their type; texts and bytes say their own.
var sizes = map[byte]int{0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}

// frameHeaders reads the headers that are texts.
func frameHeaders(raw []byte) (map[string]string, error) {
	values := map[string]string{}
	for len(raw) > 0 {
		n := int(raw[0])
		if len(raw) < n+2 {
			return nil, errFrame
		}
		name, kind := string(raw[1:1+n]), raw[1+n]
		raw = raw[n+2:]
		size, fixed := sizes[kind]
		if !fixed {
			if kind != 6 && kind != 7 || len(raw) < 2 {
				return nil, errFrame
			}
			size = int(binary.BigEndian.Uint16(raw))
			raw = raw[2:]
		}
		if len(raw) < size {
			return nil, errFrame
		}
		if kind == 7 {
			values[name] = string(raw[:size])
		}
		raw = raw[size:]
	}
	return values, nil
}

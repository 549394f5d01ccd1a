package lsp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Limits of what a server may send.
const (
	maxMessage = 32 << 20
	maxHeader  = 4 << 10 // of all header lines of a message together
)

// errProtocol is what a server that breaks the protocol is ended with.
var errProtocol = errors.New("it does not speak the language server protocol")

// readFrame reads the body of one message.
func readFrame(r *bufio.Reader) ([]byte, error) {
	length := int64(-1)
	for size := 0; ; {
		line, err := r.ReadSlice('\n')
		if size += len(line); size > maxHeader || errors.Is(err, bufio.ErrBufferFull) {
			return nil, fmt.Errorf("%w: a header of more than %d bytes", errProtocol, maxHeader)
		}
		if err != nil {
			return nil, err
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" {
			break
		}
		name, value, ok := strings.Cut(text, ":")
		if !ok || !strings.HasPrefix(strings.ToLower(name), "content-") { // no other header exists
			return nil, fmt.Errorf("%w: it wrote %.80q", errProtocol, text)
		}
		if !strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			continue
		}
		if length, err = strconv.ParseInt(strings.TrimSpace(value), 10, 64); err != nil || length < 0 {
			return nil, fmt.Errorf("%w: the length %.80q", errProtocol, value)
		}
	}
	switch {
	case length < 0:
		return nil, fmt.Errorf("%w: a message without a length", errProtocol)
	case length > maxMessage:
		return nil, fmt.Errorf("%w: a message of %d bytes, more than %d", errProtocol, length, maxMessage)
	}
	// Memory grows with what comes, not with what was announced.
	var body bytes.Buffer
	if _, err := io.CopyN(&body, r, length); err != nil {
		return nil, fmt.Errorf("read a message: %w", err)
	}
	return body.Bytes(), nil
}

func frame(body []byte) []byte {
	return append(fmt.Appendf(make([]byte, 0, len(body)+32), "Content-Length: %d\r\n\r\n", len(body)), body...)
}

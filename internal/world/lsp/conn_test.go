package lsp

import (
	"bufio"
	"bytes"
	"testing"
)

// FuzzFrames: whatever a server writes, reading it ends, and what was framed is read
// as it was.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{"", "Content-Length: 2\r\n\r\n{}", "Content-Length: -1\r\n\r\n", "content-length:5\n\n12345", "\r\n\r\n", "Content-Length: 3\r\nX: y\r\n\r\n12", "Usage: x\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := bufio.NewReader(bytes.NewReader(raw))
		for {
			body, err := readFrame(r)
			if err != nil {
				break
			}
			again, err := readFrame(bufio.NewReader(bytes.NewReader(frame(body))))
			if err != nil || !bytes.Equal(again, body) {
				t.Fatalf("%q became %q, %v", body, again, err)
			}
		}
	})
}

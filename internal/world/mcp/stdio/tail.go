package stdio

import (
	"bufio"
	"io"
	"strings"
	"sync"
	"unicode"
)

const (
	tailLines  = 20
	tailLength = 500 // of one line
)

// A tail keeps the last lines of what a server writes beside the protocol.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) add(line string) {
	line = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(line, "\ufffd"))
	if line = strings.TrimRight(line, " \t"); line == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == tailLines {
		t.lines = append(t.lines[:0], t.lines[1:]...)
	}
	t.lines = append(t.lines, line)
}

// follow reads until the end.
func (t *tail) follow(r io.Reader) {
	reader := bufio.NewReaderSize(r, 16<<10)
	for {
		part, err := reader.ReadSlice('\n')
		t.add(string(part[:min(len(part), tailLength)]))
		for err == bufio.ErrBufferFull {
			_, err = reader.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}

func (t *tail) snapshot() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.lines...)
}

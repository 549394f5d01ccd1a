package stdio

import (
	"bufio"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/haftdev/haft/internal/text/plural"
)

const (
	headLines  = 10
	tailLines  = 20
	tailLength = 500 // of one line
)

// A tail keeps the first and the last lines of what a server writes beside the protocol: many
// programs say first what is wrong, and then where, at length.
type tail struct {
	mu      sync.Mutex
	head    []string
	lines   []string // after the head
	dropped int      // between the two
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
	if len(t.head) < headLines {
		t.head = append(t.head, line)
		return
	}
	if len(t.lines) == tailLines {
		t.lines = append(t.lines[:0], t.lines[1:]...)
		t.dropped++
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
	if t.dropped == 0 {
		return slices.Concat(t.head, t.lines)
	}
	return slices.Concat(t.head, []string{leftOut(t.dropped)}, t.lines)
}

// Excerpt is what an error shows of lines from standard error: the first and the last.
func Excerpt(lines []string) string {
	const first, last = 6, 5
	if n := len(lines) - first - last; n > 1 {
		lines = slices.Concat(lines[:first], []string{leftOut(n)}, lines[len(lines)-last:])
	}
	return strings.Join(lines, "\n")
}

func leftOut(lines int) string { return "… " + plural.Of(lines, "more line") + " …" }

package haft

import (
	"bufio"
	"io"
	"strings"
	"sync"
)

// tailBytes is how much of the diagnostics an error shows.
const tailBytes = 4 << 10

// A tail keeps the end of a text.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// read reads r to its end, line by line. Lines can have any length.
func (t *tail) read(r io.Reader, line func(string)) {
	in := bufio.NewReader(r)
	for {
		s, err := in.ReadString('\n')
		if s != "" {
			t.add(s)
			if line != nil {
				line(strings.TrimRight(s, "\r\n"))
			}
		}
		if err != nil {
			return
		}
	}
}

func (t *tail) add(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, s...)
	if over := len(t.text) - tailBytes; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.text), "")
}

package shellrun

import (
	"bytes"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// ReadNew returns what was written since the last ReadNew or ReadNewLines, at
// most limit bytes of it, never half a character or half a terminal escape, and
// how many bytes before it are lost because they were over the quota. The next
// call continues where this one stopped.
func (t *Task) ReadNew(limit int) (data []byte, lost int64) {
	return t.readNew(limit, wholeText)
}

// ReadNewLines is ReadNew for whole lines: the beginning of a line that is not
// complete yet waits for its end, unless it is longer than limit.
func (t *Task) ReadNewLines(limit int) (data []byte, lost int64) {
	return t.readNew(limit, func(data []byte) int {
		if i := bytes.LastIndexByte(data, '\n'); i >= 0 {
			return i + 1
		}
		if len(data) < limit {
			return 0
		}
		return wholeText(data)
	})
}

// MarkRead makes ReadNew begin after the first n bytes, because they were shown in another
// way.
func (t *Task) MarkRead(n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cursor = max(t.cursor, n)
}

// Unread is how many bytes ReadNew has not returned yet.
func (t *Task) Unread() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.output.Counts().Bytes - t.cursor
}

func (t *Task) readNew(limit int, whole func([]byte) int) (data []byte, lost int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	over := t.Ended() // asked before reading: then nothing can follow what is read
	data, from := t.output.Since(t.cursor, max(limit, utf8.UTFMax))
	if n := whole(data); n > 0 || !over {
		data = data[:n]
	}
	if len(data) == 0 {
		return nil, 0
	}
	lost = from - t.cursor
	t.cursor = from + int64(len(data))
	return data, lost
}

// wholeChars returns how much of p ends with a whole character, or with bytes
// that will never be one.
func wholeChars(p []byte) int {
	for i := 1; i <= min(utf8.UTFMax, len(p)); i++ {
		if c := p[len(p)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(p[len(p)-i:]) {
				return len(p) - i
			}
			break
		}
	}
	return len(p)
}

// wholeEscape matches an escape that is complete.
var wholeEscape = lazyregexp.New("^\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)|[ -/]*[0-OQ-WYZ\\\\`a-~])")

// maxEscape is the length up to which a terminal escape is waited for.
const maxEscape = 64

// wholeText is wholeChars that does not end within a terminal escape either.
func wholeText(p []byte) int {
	n := wholeChars(p)
	from := max(0, n-maxEscape)
	i := bytes.LastIndexByte(p[from:n], '\x1b')
	if i < 0 {
		return n
	}
	if wholeEscape.Match(p[from+i : n]) {
		return n
	}
	return from + i
}

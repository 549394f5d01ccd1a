package tui

import (
	"bytes"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/text/visible"
)

// A statusLine is the line that a command of the user's prints below the input box. It runs
// when what it is told has changed, one run at a time.
type statusLine struct {
	text    string // its first line, with nothing in it but colours
	told    string // what it was told last
	running bool
	failed  bool // which is said once
}

const (
	statusLineTime  = 5 * time.Second
	statusLineBytes = 4 << 10
)

// A boundedBuffer keeps the beginning of what is written.
type boundedBuffer struct {
	bytes.Buffer
	most int
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(b.most-b.Len(), 0))])
	return len(p), nil
}

var colours = lazyregexp.New(`\x1b\[[0-9;:]*m`)

// onlyColours leaves colours in a line and makes every other escape visible.
func onlyColours(line string) string {
	var b strings.Builder
	for {
		at := colours.Get().FindStringIndex(line)
		if at == nil {
			return b.String() + visible.ProseCells(line)
		}
		b.WriteString(visible.ProseCells(line[:at[0]]) + line[at[0]:at[1]])
		line = line[at[1]:]
	}
}

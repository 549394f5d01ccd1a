package tui

import (
	"bytes"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/model"
)

// A statusLine is what a command of the user's prints below the input box. It runs when what it
// is told has changed, apart from how much time has passed, one run at a time.
type statusLine struct {
	text    []string // its first lines, with nothing in them but colours
	told    string   // what it was told last
	running bool
	failed  bool // which is said once
}

// counted is what the screen has counted for it since the conversation was opened.
type counted struct {
	began          time.Time
	asking         time.Duration // requests to the model
	added, removed int           // lines
	last           model.Usage   // of the last answer
}

const (
	statusLineLines = 3
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

// firstLines are the first lines of an output, without empty ones before them.
func firstLines(out string) (lines []string) {
	for line := range strings.SplitSeq(strings.TrimRight(strings.TrimLeft(out, "\n"), "\n"), "\n") {
		if len(lines) == statusLineLines {
			break
		}
		lines = append(lines, onlyColours(strings.TrimSuffix(line, "\r")))
	}
	return lines
}

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

package tui

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/sys/ownprogram"
	"github.com/haftdev/haft/internal/sys/processgroup"
	"github.com/haftdev/haft/internal/text/lang"
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

// commandLine runs a command of the settings, for a time at most, and returns the first line
// of what it prints.
func commandLine(ctx context.Context, most time.Duration, command, dir, input string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	out := &boundedBuffer{most: statusLineBytes}
	sh, err := ownprogram.Find("sh", dir)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, sh, "-c", command)
	cmd.Dir, cmd.Stdin, cmd.Stdout = dir, strings.NewReader(input), out
	cmd.WaitDelay = time.Second // for what it started and left
	processgroup.Own(cmd)
	err = cmd.Run()
	// It runs at every change, so what it leaves would pile up, and it has said all it had to say
	// even if that holds its output open.
	processgroup.End(cmd)
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		if ctx.Err() != nil {
			return "", lang.Errorf("it took longer than %s", most)
		}
		return "", err
	}
	line, _, _ := strings.Cut(strings.TrimLeft(out.String(), "\n"), "\n")
	return onlyColours(line), nil
}

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

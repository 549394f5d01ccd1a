package tui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

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

// runStatusLine has the command run with what is so now, if there is one.
func (a *app) runStatusLine() {
	if a.talk == nil || a.custom.running {
		return
	}
	command, journal := a.talk.Rules.StatusLine()
	if command == "" {
		a.custom = statusLine{}
		return
	}
	told := a.statusJSON(journal)
	if told == a.custom.told {
		return
	}
	a.custom.told, a.custom.running = told, true
	dir := a.talk.Turns.Dir()
	go func() {
		text, err := commandLine(a.ctx, statusLineTime, command, dir, told)
		a.later(func() {
			a.custom.running, a.dirty = false, true
			if err != nil && !a.custom.failed {
				a.custom.failed = true
				a.note(a.t("The statusLine command failed: %s", err))
			}
			if err == nil {
				a.custom.text, a.custom.failed = text, false
			}
		})
	}()
}

// statusJSON is what the command reads, with the names that such commands expect.
func (a *app) statusJSON(journal string) string {
	type m map[string]any
	s, dir := &a.status, a.talk.Turns.Dir()
	used := 0.0
	if s.window > 0 {
		used = 100 * float64(s.used) / float64(s.window)
	}
	raw, err := json.Marshal(m{
		"hook_event_name": "Status", "session_id": a.talk.State.Session(), "transcript_path": journal, "cwd": dir, "version": a.opts.Version,
		"model":           m{"id": s.model, "display_name": s.model},
		"workspace":       m{"current_dir": dir, "project_dir": dir},
		"permission_mode": s.mode, "cost": m{"total_cost_usd": s.cost},
		"context_window": m{"context_window_size": s.window, "total_input_tokens": s.used, "used_percentage": used},
	})
	if err != nil {
		return "{}"
	}
	return string(raw)
}

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

// statusLines are what the command printed, fitted to the screen.
func (a *app) statusLines(v view) []string {
	switch {
	case a.custom.text == "":
		return nil
	case v.paint.Dim == "": // no colours are wanted
		return []string{ansi.Truncate(ansi.Strip(a.custom.text), v.width, "…")}
	}
	return []string{ansi.Truncate(a.custom.text, v.width, "…") + "\x1b[0m"}
}

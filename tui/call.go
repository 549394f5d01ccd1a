package tui

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/card"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tui/code"
	"github.com/haftdev/haft/tui/style"
)

// A call is a call as a card: a line about it, how far it is, how it went.
type call struct {
	card.Card
	path    string // of the file that it is about
	since   time.Time
	waits   bool // for an answer
	started bool
	lines   []string // the last of its output
	count   string   // how much there is
	end     *card.Ending
	out     *sched.Outcome
	gone    bool // it will have no result
}

func (b *call) take(v view) ([]string, bool) {
	switch {
	case b.end != nil:
		return b.ended(v), true
	case b.gone:
		return []string{b.head(v, v.paint.Dim.Of("○"), "cancelled")}, true
	}
	return nil, false
}

// tail is the card of a call that runs: what it does, for how long, and the last
// lines of its output.
func (b *call) tail(v view) []string {
	if lines, done := b.take(v); done {
		return lines[:1] // it waits for those before it
	}
	switch {
	case b.waits:
		return []string{b.head(v, v.paint.Warn.Of("?"), "waits for you")}
	case !b.started:
		return []string{b.head(v, v.paint.Dim.Of("○"), "")}
	}
	beat := []string{"◐", "◓", "◑", "◒"}[v.now.UnixMilli()/int64(blink/time.Millisecond)%4]
	lines := []string{b.head(v, v.paint.Accent.Of(beat), strings.Trim(seconds(v.now.Sub(b.since))+", "+b.count, ", "))}
	for _, l := range b.lines {
		lines = append(lines, v.paint.Dim.Of("  │ "+ansi.Truncate(visible(l), v.width-6, "…")))
	}
	return lines
}

func (b *call) close()      { b.gone = b.end == nil }
func (b *call) tight() bool { return true }

// head is the first line: a mark, the card, a remark.
func (b *call) head(v view, mark, remark string) string {
	s := mark + " " + v.paint.Bold.Of(b.Title)
	room := v.width - 3 - ansi.StringWidth(b.Title) - ansi.StringWidth(remark) - 3
	if b.Detail != "" && room > 4 {
		s += " " + ansi.Truncate(b.Detail, room, "…")
	}
	if remark != "" {
		s += v.paint.Dim.Of(" · " + remark)
	}
	return s
}

// maxDiff is how many lines of a change a card has.
const maxDiff = 24

// ended is the card of a call that is over.
func (b *call) ended(v view) []string {
	mark, say := v.paint.Good.Of("●"), v.paint.Dim
	if !b.end.OK {
		mark, say = v.paint.Bad.Of("●"), v.paint.Bad
	}
	remark := ""
	if b.end.Took >= 100*time.Millisecond {
		remark = seconds(b.end.Took)
	}
	lines := []string{b.head(v, mark, remark)}
	if b.end.Line != "" && len(b.end.Hunks) == 0 {
		lines = append(lines, v.paint.Dim.Of("  └ ")+say.Of(ansi.Truncate(b.end.Line, v.width-5, "…")))
	}
	if !b.end.OK && b.out.Verdict.Behavior == tool.Deny && b.end.Verdict != "" {
		lines = append(lines, v.paint.Dim.Of(ansi.Truncate("    "+b.end.Verdict, v.width, "…")))
	}
	var hunks []string
	for _, h := range b.end.Hunks {
		hunks = append(hunks, diffLines(h.Lines, h.OldStart, h.NewStart, b.path, v)...)
	}
	if more := len(hunks) - maxDiff; more > 1 {
		hunks = append(hunks[:maxDiff:maxDiff], v.paint.Dim.Of(fmt.Sprintf("    … %d more lines (ctrl+o shows them)", more)))
	}
	return append(lines, hunks...)
}

// diffLines draws the lines of a hunk: the number, the change, the code in colour.
func diffLines(hunk []string, from, to int, path string, v view) []string {
	h := code.New(strings.TrimPrefix(filepath.Ext(path), "."), v.paint)
	width := max(len(fmt.Sprint(max(from, to)+len(hunk))), 3)
	var lines []string
	for _, l := range hunk {
		if l == "" || l[0] == '\\' {
			continue
		}
		number, body := to, ansi.Truncate(visible(l[1:]), v.width-width-6, "…")
		switch l[0] {
		case '-':
			number, from = from, from+1
			lines = append(lines, v.paint.Dim.Of(fmt.Sprintf("  %*d ", width, number))+changed(v.paint.Removed, "- "+body))
		case '+':
			to++
			lines = append(lines, v.paint.Dim.Of(fmt.Sprintf("  %*d ", width, number))+changed(v.paint.Added, "+ "+h.Line(body)))
		default:
			from, to = from+1, to+1
			lines = append(lines, v.paint.Dim.Of(fmt.Sprintf("  %*d ", width, number))+"  "+h.Line(body))
		}
	}
	return lines
}

// changed lays a colour behind text that has colours of its own.
func changed(s style.Style, text string) string {
	if s == "" {
		return text
	}
	begin := "\x1b[" + string(s) + "m"
	return begin + strings.ReplaceAll(text, "\x1b[0m", "\x1b[0m"+begin) + "\x1b[0m"
}

// progress takes in what a running call reports.
func (b *call) progress(p tool.Progress) {
	b.started = true
	switch p := p.(type) {
	case tool.BashProgress:
		all := strings.Split(strings.TrimRight(p.Output, "\n"), "\n")
		b.lines = all[max(0, len(all)-3):]
		if p.Output == "" {
			b.lines = nil
		}
		b.count = fmt.Sprintf("%d lines", p.Lines)
	case tool.TextProgress:
		b.lines = []string{p.Text}
	case tool.AgentProgress:
		b.lines = []string{p.Activity}
		b.count = fmt.Sprintf("%d calls, %s tokens", p.ToolUses, thousands(int64(p.Tokens)))
	case tool.MCPProgress:
		b.lines = nil
		if p.Message != "" {
			b.lines = []string{p.Message}
		}
		b.count = fmt.Sprintf("%g", p.Progress)
		if p.Total > 0 {
			b.count += fmt.Sprintf(" of %g", p.Total)
		}
	case tool.WebSearchProgress:
		b.lines, b.count = []string{p.Query}, fmt.Sprintf("%d results", p.Results)
	case tool.EvalProgress:
		b.lines = []string{lastLine(p.Output)}
	}
}

// thousands is a number for people.
func thousands(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

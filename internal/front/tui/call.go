package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/tool"
)

// A call is a call as a card: a line about it, how far it is, how it went.
type call struct {
	card.Card
	since   time.Time
	waits   bool // for an answer
	asks    bool // its agent waits for one
	started bool
	lines   []string // the last of its output
	count   string   // how much there is
	end     *card.Ending
	gone    bool // it will have no result
}

func newCall(c card.Card) *call { return &call{Card: c, since: time.Now()} }

func (b *call) take(v view) ([]string, bool) {
	switch {
	case b.end != nil:
		return b.ended(v), true
	case b.gone:
		return []string{b.head(v, v.paint.Dim.Of("○"), v.t("cancelled"))}, true
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
		return []string{b.head(v, v.paint.Warn.Of("?"), v.t("waiting for you"))}
	case !b.started:
		return []string{b.head(v, v.paint.Dim.Of("○"), "")}
	case b.asks:
		return append([]string{b.head(v, v.paint.Warn.Of("?"), v.t("its agent is waiting for you"))}, b.live(v)...)
	}
	beat := []string{"◐", "◓", "◑", "◒"}[v.now.UnixMilli()/int64(blink/time.Millisecond)%4]
	took := ""
	if d := v.now.Sub(b.since); d >= time.Second {
		took = seconds(d.Truncate(time.Second))
	}
	lines := []string{b.head(v, v.paint.Accent.Of(beat), strings.Trim(took+", "+b.count, ", "))}
	return append(lines, b.live(v)...)
}

// live are the last lines of a call that runs.
func (b *call) live(v view) []string {
	var lines []string
	for _, l := range b.lines {
		lines = append(lines, v.paint.Dim.Of("  │ "+ansi.Truncate(visible.Cells(l), v.width-6, "…")))
	}
	return lines
}

func (b *call) close()        { b.gone = b.end == nil }
func (b *call) compact() bool { return true }

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
	e, mark, say := b.end, v.paint.Good.Of("●"), v.paint.Dim
	switch {
	case e.Stopped:
		mark = v.paint.Dim.Of("○")
	case !e.OK:
		mark, say = v.paint.Bad.Of("●"), v.paint.Bad
	}
	remarks := []string{}
	if len(e.Hunks) > 0 {
		remarks = append(remarks, fmt.Sprintf("+%d −%d", e.Added, e.Removed))
	}
	short := e.Brief && len(e.Hunks) == 0 && b.fits(v, e.Line)
	if short {
		remarks = append(remarks, e.Line)
	}
	if e.Confined != "" {
		remarks = append(remarks, e.Confined)
	}
	if e.Took >= time.Second {
		remarks = append(remarks, seconds(e.Took))
	}
	lines := []string{b.head(v, mark, strings.Join(remarks, " · "))}
	switch {
	case len(e.Hunks) > 0:
		return append(lines, b.change(v)...)
	case short:
		return lines
	case e.Brief:
		return append(lines, v.paint.Dim.Of("  └ ")+say.Of(ansi.Truncate(e.Line, v.width-5, "…")))
	}
	return append(lines, b.output(v, say)...)
}

// fits reports whether a few words about the end have room in the first line
// beside all that is there.
func (b *call) fits(v view, words string) bool {
	return ansi.StringWidth(b.Title)+ansi.StringWidth(b.Detail)+ansi.StringWidth(words)+16 <= v.width
}

// output is what came back: all of it if it is short, else its two ends.
func (b *call) output(v view, say style.Style) []string {
	var lines []string
	for i, l := range b.end.Output {
		if i == card.Excerpt && b.end.Left > 0 {
			lines = append(lines, v.paint.Dim.Of("    … "+v.lang.Count(b.end.Left, "more line")+" "+v.t("(ctrl+o shows them)")))
		}
		lead := "    "
		if i == 0 {
			lead = v.paint.Dim.Of("  └ ")
		}
		lines = append(lines, lead+say.Of(ansi.Truncate(l, v.width-5, "…")))
		say = v.paint.Dim // one line in red is enough
	}
	return lines
}

// change is what was changed in a file.
func (b *call) change(v view) []string {
	var hunks []string
	for i, h := range b.end.Hunks {
		if i > 0 {
			hunks = append(hunks, v.paint.Dim.Of("      ⋮"))
		}
		hunks = append(hunks, diffLines(h.Lines, h.OldStart, h.NewStart, b.Path, v)...)
	}
	if more := len(hunks) - maxDiff; more > 1 {
		hunks = append(hunks[:maxDiff:maxDiff], v.paint.Dim.Of("    … "+v.lang.Count(more, "more line")+" "+v.t("(ctrl+o shows them)")))
	}
	return hunks
}

// progress takes in what a running call reports.
func (b *call) progress(p tool.Progress, words *lang.Catalogue) {
	b.started = true
	switch p := p.(type) {
	case tool.BashProgress:
		all := strings.Split(strings.TrimRight(p.Output, "\n"), "\n")
		b.lines = all[max(0, len(all)-3):]
		if p.Output == "" {
			b.lines = nil
		}
		b.count = ""
		if p.Lines > 0 {
			b.count = words.Count(int(p.Lines), "line")
		}
	case tool.TextProgress:
		b.lines = []string{p.Text}
	case tool.AgentProgress:
		b.count = words.Count(p.ToolUses, "call")
		if p.Tokens > 0 { // not every provider says
			b.count = words.T("%s, %s tokens", b.count, plural.Thousands(int64(p.Tokens)))
		}
	case tool.MCPProgress:
		b.lines = nil
		if p.Message != "" {
			b.lines = []string{p.Message}
		}
		b.count = fmt.Sprintf("%g", p.Progress)
		if p.Total > 0 {
			b.count = words.T("%g of %g", p.Progress, p.Total)
		}
	case tool.WebSearchProgress:
		b.lines, b.count = []string{p.Query}, words.Count(p.Results, "result")
	case tool.EvalProgress:
		b.lines = []string{lastLine(p.Output)}
	}
}

// does shows a step of the agent that the call gave work to.
func (b *call) does(step card.Card) {
	b.lines = append(b.lines, step.String())
	b.lines = b.lines[max(0, len(b.lines)-3):]
}

package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/plural"
	"github.com/haftdev/haft/internal/timeline"
	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/session"
)

// showTimeline draws when the calls of a session waited, were asked about and ran.
func (f *sessionsShow) showTimeline(ctx context.Context, info session.Info) error {
	v, err := timeline.Load(ctx, info.Path)
	if err != nil {
		return err
	}
	if f.json {
		return writeJSON(f.Out, struct {
			ID  string `json:"id"`
			Cwd string `json:"cwd"`
			timeline.Summary
			TurnList []timeline.Turn  `json:"turn_list"`
			ItemList []*timeline.Item `json:"item_list"`
		}{info.ID, info.Cwd, v.Summary(), append([]timeline.Turn{}, v.Turns()...), append([]*timeline.Item{}, v.Items(0, math.MaxInt)...)})
	}
	s := v.Summary()
	fmt.Fprintf(f.Out, "%s  %s\n%s\n", info.ID, inOneLine(cmp.Or(s.Title, info.Title, info.Prompt), 80), inOneLine(info.Cwd, 200))
	fmt.Fprintf(f.Out, "%s · %s · %s · %s\n", inOneLine(cmp.Or(s.Model, "no model"), 60), plural.Of(s.Turns, "turn"), plural.Of(s.Calls, "call"), costText(s.Cost, s.Unpriced))
	fmt.Fprintf(f.Out, "%s waiting  %s asked  %s running  %s failed\n", glyphs.waiting, glyphs.asked, glyphs.running, glyphs.failed)
	items := v.Items(0, math.MaxInt)
	for n, t := range v.Turns() {
		end := len(items)
		if n+1 < len(v.Turns()) {
			end = v.Turns()[n+1].Item
		}
		drawTurn(f.Out, t, items[t.Item:end])
	}
	return nil
}

// glyphs are what a bar is made of.
var glyphs = struct{ waiting, asked, running, failed string }{"░", "?", "█", "▒"}

const barWidth = 40

// drawTurn writes a turn and its calls, each with a bar on the turn's time axis.
func drawTurn(w io.Writer, t timeline.Turn, items []*timeline.Item) {
	left := ""
	if t.Left {
		left = "  (the conversation went back to before this turn)"
	}
	fmt.Fprintf(w, "\n%s  turn %d  %s  %s%s\n", clock(t.Start), t.Index+1, took(t.Start, t.End), plural.Of(t.Calls, "call"), left)
	for n, i := range items {
		if i.Left && !t.Left && (n == 0 || !items[n-1].Left) {
			fmt.Fprintf(w, "%s  (the conversation went back to here)\n", strings.Repeat(" ", 8))
		}
		who := ""
		if i.Lane != "" {
			who = "[" + inOneLine(i.Lane, 12) + "] "
		}
		if i.Kind == timeline.Note {
			continue
		}
		if i.Kind != timeline.CallItem {
			fmt.Fprintf(w, "%s  %-10s  %s%s\n", clock(i.At), i.Kind, who, inOneLine(visible.Text(i.Text), 90))
			continue
		}
		c := i.Call
		fmt.Fprintf(w, "%s  %-10s  %s %7s  %s%s %s\n", clock(i.At), c.State, bar(t, i), took(cmp.Or(c.Started, i.At), cmp.Or(c.Ended, t.End)), who, inOneLine(c.Tool, 30), inOneLine(visible.Text(i.Text), 60))
		if why := verdictText(c); why != "" {
			fmt.Fprintf(w, "%s  %-10s  %s\n", strings.Repeat(" ", 8), "", inOneLine(visible.Text(why), 110))
		}
	}
}

// verdictText says who decided about a call, if that is worth a line.
func verdictText(c *timeline.Call) string {
	switch {
	case c.State == timeline.Asked:
		return "waiting for an answer: " + c.Reason
	case c.By != "":
		return fmt.Sprintf("%s by %s after %s", c.Verdict, c.By, took(c.Asked, c.Answered))
	case c.State == timeline.Denied:
		return "denied: " + c.Reason
	}
	return ""
}

// bar is the life of a call on the axis of its turn.
func bar(t timeline.Turn, i *timeline.Item) string {
	c := i.Call
	span := max(int64(t.End-t.Start), 1)
	column := func(at timeline.Time) int { return int(int64(at-t.Start) * barWidth / span) }
	end := cmp.Or(c.Ended, t.End)
	var b strings.Builder
	for n := range barWidth {
		at := func(from, to timeline.Time) bool {
			return from > 0 && n >= column(from) && (n < column(to) || n == min(column(from), barWidth-1))
		}
		switch {
		case c.Started > 0 && at(c.Started, end):
			if c.State == timeline.Failed {
				b.WriteString(glyphs.failed)
			} else {
				b.WriteString(glyphs.running)
			}
		case at(c.Asked, cmp.Or(c.Answered, end)):
			b.WriteString(glyphs.asked)
		case at(i.At, cmp.Or(c.Started, end)):
			b.WriteString(glyphs.waiting)
		default:
			b.WriteString(" ")
		}
	}
	return b.String()
}

func clock(t timeline.Time) string {
	if t == 0 {
		return "--:--:--"
	}
	return time.UnixMilli(int64(t)).Format("15:04:05")
}

// took is the time between two moments, for people.
func took(from, to timeline.Time) string {
	if from == 0 || to < from {
		return "-"
	}
	d := time.Duration(to-from) * time.Millisecond
	switch {
	case d < time.Second:
		return d.String()
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

func costText(usd float64, unpriced bool) string {
	switch {
	case unpriced && usd == 0:
		return "cost not known"
	case unpriced:
		return fmt.Sprintf("at least $%.4f", usd)
	}
	return fmt.Sprintf("$%.4f", usd)
}

package answers

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/plural"
)

// A Part is something that fills the context.
type Part struct {
	ID     string
	Name   lang.Text
	Tokens int64
	Mark   string // in the picture
}

// Context says what fills the context of the next request, and how much of it is free. The
// parts are estimates that add up to what the provider counted, as far as it has.
func Context(c *harness.Conversation) []Part {
	u := c.Agent.ContextUsage()
	const perToken = 3.5
	var memory, mcp int64
	for _, f := range c.Instructions() {
		memory += int64(float64(len(f.Text)) / perToken)
	}
	var tools []struct {
		Name string `json:"name"`
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(c.Agent.Tools().Request(), &raw); err == nil && json.Unmarshal(c.Agent.Tools().Request(), &tools) == nil {
		for i, t := range tools {
			if strings.HasPrefix(t.Name, "mcp__") {
				mcp += int64(float64(len(raw[i])) / perToken)
			}
		}
	}
	memory = min(memory, u.Messages) // they are told in the first message
	parts := []Part{
		{"system_prompt", "System prompt", u.System, "█"}, {"system_tools", "System tools", u.Tools - min(mcp, u.Tools), "▓"}, {"mcp_tools", "MCP tools", min(mcp, u.Tools), "▒"},
		{"memory_files", "Memory files", memory, "◆"}, {"messages", "Messages", u.Messages - memory, "▪"},
	}
	var sum int64
	for _, p := range parts {
		sum += p.Tokens
	}
	for i := range parts {
		if sum > 0 && u.Total > 0 {
			parts[i].Tokens = parts[i].Tokens * u.Total / sum
		}
	}
	return append(parts, Part{"free_space", "Free space", max(0, u.Window-u.Total), "·"})
}

// picture answers what is drawn.
func (a answerer) picture(name string) (text string, ok bool) {
	switch name {
	case "context":
		return a.contextText(), true
	case "cost":
		return a.costText(), true
	}
	return "", false
}

// contextText draws what fills the context: a hundred cells, one for each per cent.
func (a answerer) contextText() string {
	u := a.c.Agent.ContextUsage()
	if u.Window <= 0 {
		return a.t("The context of %s holds %d tokens.", u.Model, u.Total)
	}
	parts := Context(a.c)
	share := func(tokens int64) float64 { return float64(tokens) * 100 / float64(u.Window) }
	const cells, width = 100, 25 // which a narrow screen has room for
	var picture strings.Builder
	for _, p := range parts[:len(parts)-1] {
		n := int(share(p.Tokens) + 0.5)
		if p.Tokens > 0 {
			n = max(n, 1) // what is there is seen
		}
		picture.WriteString(strings.Repeat(p.Mark, n))
	}
	drawn := []rune(picture.String())
	drawn = append(drawn, slices.Repeat([]rune(parts[len(parts)-1].Mark), max(cells-len(drawn), 0))...)[:cells]
	text := a.t("The context of %s holds %s of %s tokens (%.0f%%).", u.Model, plural.Thousands(u.Total), plural.Thousands(u.Window), share(u.Total)) + "\n"
	for line := range slices.Chunk(drawn, width) {
		text += "  " + string(line) + "\n"
	}
	text += table(func(row func(...any)) {
		for _, p := range parts {
			row("  "+p.Mark+" "+a.t(p.Name), p.Tokens, fmt.Sprintf("%.1f%%", share(p.Tokens)))
		}
	})
	if u.CompactAt > 0 {
		text += "\n" + a.t("The conversation is compacted at %d tokens.", u.CompactAt)
	}
	return text
}

// costText tells what the session has cost, agents included, what for, and in which turns.
func (a answerer) costText() string {
	used := a.c.Agent.Usage()
	if len(used) == 0 {
		return Cost(a.c, a.words)
	}
	open := a.t("It has been open for %s.", time.Since(a.c.Began).Round(time.Second))
	text := Cost(a.c, a.words) + " " + open + "\n" + table(func(row func(...any)) {
		// a column for each model: there are few of them, and a narrow screen has room for them
		heads := []lang.Text{"model", "input", "cache read", "cache write", "output"}
		rows := make([][]any, len(heads))
		for i, head := range heads {
			rows[i] = []any{a.t(head)}
		}
		for _, name := range slices.Sorted(maps.Keys(used)) {
			u := used[name]
			for i, cell := range []any{name, u.Input, u.CacheRead, u.CacheWrite, u.Output} {
				rows[i] = append(rows[i], cell)
			}
		}
		for _, r := range rows {
			row(r...)
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	path := a.c.Journal().Path()
	if path == "" {
		return text
	}
	o, err := harness.Look(ctx, path)
	if err != nil {
		return text
	}
	return text + a.turnsText(o.Turns)
}

// turnsText plots what the last turns have cost, and names the most expensive one.
func (a answerer) turnsText(turns []harness.Turn) string {
	const most = 60
	from := max(0, len(turns)-most)
	highest := -1
	for i, t := range turns {
		if i >= from && t.Cost > 0 && (highest < 0 || t.Cost > turns[highest].Cost) {
			highest = i
		}
	}
	if highest < 0 {
		return ""
	}
	levels := []rune("▁▂▃▄▅▆▇█")
	var plot strings.Builder
	for _, t := range turns[from:] {
		plot.WriteRune(levels[min(int(t.Cost/turns[highest].Cost*float64(len(levels))), len(levels)-1)])
	}
	return "\n\n" + a.t("By turn, %d to %d:", from+1, len(turns)) + "\n  " + plot.String() + "\n" +
		a.t("The most expensive one was turn %d, $%.4f: %s", highest+1, turns[highest].Cost, oneLine(turns[highest].Prompt))
}

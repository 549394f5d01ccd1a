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
)

// A Part is something that fills the context.
type Part struct {
	ID, Name string
	Tokens   int64
	Mark     string // in the picture
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
func picture(c *harness.Conversation, name string) (text string, ok bool) {
	switch name {
	case "context":
		return contextText(c), true
	case "cost":
		return costText(c), true
	}
	return "", false
}

// contextText draws what fills the context: a hundred cells, one for each per cent.
func contextText(c *harness.Conversation) string {
	u := c.Agent.ContextUsage()
	if u.Window <= 0 {
		return fmt.Sprintf("The context of %s holds %d tokens.", u.Model, u.Total)
	}
	parts := Context(c)
	share := func(tokens int64) float64 { return float64(tokens) * 100 / float64(u.Window) }
	const cells, width = 100, 50
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
	text := fmt.Sprintf("The context of %s holds %d of %d tokens (%.0f%%).\n  %s\n  %s\n", u.Model, u.Total, u.Window, share(u.Total), string(drawn[:width]), string(drawn[width:]))
	text += table(func(row func(...any)) {
		for _, p := range parts {
			row("  "+p.Mark+" "+p.Name, p.Tokens, fmt.Sprintf("%.1f%%", share(p.Tokens)))
		}
	})
	if u.CompactAt > 0 {
		text += fmt.Sprintf("\nThe conversation is compacted at %d tokens.", u.CompactAt)
	}
	return text
}

// costText tells what the session has cost, agents included, what for, and in which turns.
func costText(c *harness.Conversation) string {
	used := c.Agent.Usage()
	if len(used) == 0 {
		return Cost(c)
	}
	open := " It has been open for " + time.Since(c.Began).Round(time.Second).String() + ".\n"
	text := Cost(c) + open + table(func(row func(...any)) {
		row("model", "input", "cache read", "cache write", "output")
		for _, name := range slices.Sorted(maps.Keys(used)) {
			u := used[name]
			row(name, u.Input, u.CacheRead, u.CacheWrite, u.Output)
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	path := c.Journal().Path()
	if path == "" {
		return text
	}
	o, err := harness.Look(ctx, path)
	if err != nil {
		return text
	}
	return text + turnsText(o.Turns)
}

// turnsText plots what the last turns have cost, and names the most expensive one.
func turnsText(turns []harness.Turn) string {
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
	return fmt.Sprintf("\n\nBy turn, %d to %d:\n  %s\nThe most expensive one was turn %d, $%.4f: %s", from+1, len(turns), plot.String(), highest+1, turns[highest].Cost, oneLine(turns[highest].Prompt))
}

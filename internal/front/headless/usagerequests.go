package headless

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/answers"
	"github.com/haftdev/haft/wire"
)

// usageRequests are about what the session has used.
func usageRequests(q *requests) []row {
	return []row{
		about(q, contextUsage),
		with(q, sessionUsage),
		about(q, func(_ context.Context, talk *harness.Conversation, _ *wire.GetSessionCost) (any, error) {
			return wire.TextReply{Text: answers.Cost(talk, nil)}, nil
		}),
	}
}

// contextUsage says what fills the context.
func contextUsage(_ context.Context, talk *harness.Conversation, _ *wire.GetContextUsage) (any, error) {
	c := talk.Agent.ContextUsage()
	u := wire.ContextUsage{
		TotalTokens: int(c.Total), MaxTokens: int(c.Window), RawMaxTokens: int(c.Window), Model: c.Model,
		AutoCompactThreshold: int(c.CompactAt), IsAutoCompactEnabled: c.CompactAt > 0,
	}
	if c.Window > 0 {
		u.Percentage = float64(c.Total) * 100 / float64(c.Window)
	}
	for _, p := range answers.Context(talk) {
		kind := "used"
		if p.ID == "free_space" {
			kind = "free"
		}
		u.Categories = append(u.Categories, wire.ContextCategory{ID: p.ID, Name: string(p.Name), Tokens: int(p.Tokens), Color: "inactive", Kind: kind})
	}
	u.GridRows = squares(&u)
	for _, f := range talk.Instructions() {
		u.MemoryFiles = append(u.MemoryFiles, wire.ContextFile{Path: f.Path, Type: f.Source.String(), Tokens: answers.Tokens(len(f.Text))})
	}
	tools := talk.Agent.Tools()
	for _, t := range tools.All() {
		if server, ok := strings.CutPrefix(t.Source, "mcp:"); ok {
			u.MCPTools = append(u.MCPTools, wire.ContextTool{Name: t.Name, ServerName: server, Tokens: answers.Tokens(len(tools.Description(t)) + len(tools.View(t).JSON())), IsLoaded: !slices.Contains(tools.Deferred(), t)})
		}
	}
	library := talk.World.Project.Library
	for _, d := range library.Agents.List().Definitions {
		source := d.Source.String()
		if d.Builtin {
			source = "built-in"
		}
		u.Agents = append(u.Agents, wire.ContextAgent{AgentType: d.Name, Source: source, Path: d.Path, Tokens: answers.Tokens(len(d.Name) + len(d.Description))})
	}
	u.Skills = new(wire.ContextSkills)
	for _, s := range library.Skills.List().Skills {
		u.Skills.TotalSkills++
		if s.ForModel {
			u.Skills.IncludedSkills++
			tokens := answers.Tokens(len(s.Name) + len(s.Description))
			u.Skills.Tokens += tokens
			u.Skills.SkillFrontmatter = append(u.Skills.SkillFrontmatter, wire.ContextSkill{Name: s.Name, Source: s.Source.String(), Path: s.Path, Tokens: tokens})
		}
	}
	u.SlashCommands = new(wire.ContextCommands)
	for _, c := range commands(talk) {
		u.SlashCommands.TotalCommands++
		if !c.Builtin {
			u.SlashCommands.IncludedCommands++
			u.SlashCommands.Tokens += answers.Tokens(len(c.Name) + len(c.Description))
		}
	}
	return u, nil
}

// squares draws the categories as ten rows of ten squares, each a hundredth of the window.
func squares(u *wire.ContextUsage) (rows wire.List[wire.List[wire.ContextSquare]]) {
	const side = 10
	var list wire.List[wire.ContextSquare]
	for _, c := range u.Categories {
		share := float64(c.Tokens) * side * side / float64(max(u.MaxTokens, 1))
		for left := share; left > 0 && len(list) < side*side; left-- {
			list = append(list, wire.ContextSquare{Color: c.Color, IsFilled: c.Kind == "used", CategoryName: c.Name, Tokens: c.Tokens, Percentage: math.Round(share), SquareFullness: min(left, 1)})
		}
	}
	for row := range slices.Chunk(list, side) {
		rows = append(rows, row)
	}
	return rows
}

func sessionUsage(_ context.Context, q *requests, talk *harness.Conversation, _ *wire.GetUsage) (any, error) {
	models, cost := q.tell.modelUsage(talk.Agent.Usage())
	return wire.UsageReply{Session: wire.SessionUsage{
		TotalCostUSD: cost, ModelUsage: models, TotalDurationMS: time.Since(q.began).Milliseconds(), TotalAPIDurationMS: q.asked(),
	}}, nil
}

package headless

import (
	"context"
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
	return u, nil
}

func sessionUsage(_ context.Context, q *requests, talk *harness.Conversation, _ *wire.GetUsage) (any, error) {
	models, cost := q.tell.modelUsage(talk.Agent.Usage())
	return wire.UsageReply{Session: wire.SessionUsage{
		TotalCostUSD: cost, ModelUsage: models, TotalDurationMS: time.Since(q.began).Milliseconds(), TotalAPIDurationMS: q.asked(),
	}}, nil
}

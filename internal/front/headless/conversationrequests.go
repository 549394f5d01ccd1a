package headless

import (
	"cmp"
	"context"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/wire"
)

// courseRequests change how the conversation continues.
func courseRequests(q *requests) []row {
	return []row{
		with(q, interrupt),
		with(q, changeMode),
		with(q, changeModel),
		about(q, changeEffort),
		with(q, describeInput),
		with(q, changeThinking),
		with(q, withdraw),
		about(q, func(context.Context, *harness.Conversation, *wire.SetHasSubscribers) (any, error) {
			return nil, nil // nothing is held back that could come sooner
		}),
	}
}

// interrupt stops the turn. The answer does not wait for that.
func interrupt(_ context.Context, q *requests, talk *harness.Conversation, r *wire.Interrupt) (any, error) {
	var reply wire.InterruptReply
	for _, p := range q.driver().Queued() {
		if r.CancelQueued && q.driver().Withdraw(p.UUID) {
			reply.Cancelled = append(reply.Cancelled, p.UUID)
			q.tell.lifecycle(p.UUID, "cancelled")
		} else {
			reply.StillQueued = append(reply.StillQueued, p.UUID)
		}
	}
	if r.MessageUUID != "" {
		talk.Agent.InterruptPrompt(r.MessageUUID)
	} else {
		q.driver().Interrupt()
	}
	return reply, nil
}

func changeMode(ctx context.Context, q *requests, talk *harness.Conversation, r *wire.SetPermissionMode) (any, error) {
	defer q.settle(ctx)
	return setMode(talk, r.Mode)
}

func changeModel(_ context.Context, q *requests, talk *harness.Conversation, r *wire.SetModel) (any, error) {
	name := talk.Resolve(r.Model)
	talk.Agent.SetModel(name)
	return wire.SetModelReply{Model: name}, nil
}

func changeEffort(_ context.Context, talk *harness.Conversation, r *wire.SetEffort) (any, error) {
	talk.Agent.SetEffort(r.Effort)
	return nil, nil
}

// describeInput says what is around the input box of a front end.
func describeInput(_ context.Context, q *requests, talk *harness.Conversation, _ *wire.DescribeInput) (any, error) {
	reply := wire.DescribeInputReply{Commands: commands(talk), Models: models(), Model: talk.Agent.ContextUsage().Model, Effort: talk.Agent.Effort()}
	for _, p := range q.driver().Queued() {
		if p.Origin != "" || p.Silent {
			continue
		}
		text := p.Said
		for _, b := range p.Content {
			if p.Said == "" && b.Type == model.Text {
				text += b.Text
			}
		}
		reply.Queued = append(reply.Queued, wire.QueuedPrompt{UUID: p.UUID, Text: text})
	}
	return reply, nil
}

func changeThinking(_ context.Context, q *requests, talk *harness.Conversation, r *wire.SetMaxThinkingTokens) (any, error) {
	talk.Agent.SetThinking(thinking(q, r))
	return nil, nil
}

// thinking sets the limit on thinking; without one it is what the session began with.
func thinking(q *requests, r *wire.SetMaxThinkingTokens) *model.ThinkingOptions {
	if r.MaxThinkingTokens != nil || q.opts.Talk.Thinking == nil {
		return harness.ThinkingTokens(r.MaxThinkingTokens, r.ThinkingDisplay)
	}
	first := *q.opts.Talk.Thinking
	first.Display = cmp.Or(r.ThinkingDisplay, first.Display)
	return &first
}

// withdraw takes back a prompt that no turn has taken up yet.
func withdraw(_ context.Context, q *requests, talk *harness.Conversation, r *wire.CancelAsyncMessage) (any, error) {
	gone := q.driver().Withdraw(r.MessageUUID)
	if gone {
		q.tell.lifecycle(r.MessageUUID, "cancelled")
	}
	return wire.CancelAsyncMessageReply{Cancelled: gone, Running: !gone && talk.Agent.Answers(r.MessageUUID)}, nil
}

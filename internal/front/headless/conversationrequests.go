package headless

import (
	"cmp"
	"context"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/wire"
)

// courseRequests change how the conversation continues.
func (s *server) courseRequests() []row {
	return []row{
		about(s, s.interrupt),
		about(s, s.changeMode),
		about(s, s.changeModel),
		about(s, s.changeThinking),
		about(s, s.withdraw),
		about(s, func(context.Context, *harness.Conversation, *wire.SetHasSubscribers) (any, error) {
			return nil, nil // nothing is held back that could come sooner
		}),
	}
}

// interrupt stops the turn. The answer does not wait for that.
func (s *server) interrupt(_ context.Context, talk *harness.Conversation, r *wire.Interrupt) (any, error) {
	var reply wire.InterruptReply
	for _, p := range talk.Agent.Queued() {
		if r.CancelQueued && talk.Agent.Withdraw(p.UUID) {
			reply.Cancelled = append(reply.Cancelled, p.UUID)
			s.tell.lifecycle(p.UUID, "cancelled")
		} else {
			reply.StillQueued = append(reply.StillQueued, p.UUID)
		}
	}
	if r.MessageUUID != "" {
		talk.Agent.InterruptPrompt(r.MessageUUID)
	} else {
		talk.Agent.Interrupt("")
	}
	return reply, nil
}

func (s *server) changeMode(ctx context.Context, talk *harness.Conversation, r *wire.SetPermissionMode) (any, error) {
	defer s.settle(ctx, talk)
	return s.setMode(talk, r.Mode)
}

func (s *server) changeModel(_ context.Context, talk *harness.Conversation, r *wire.SetModel) (any, error) {
	name := talk.Resolve(r.Model)
	talk.Agent.SetModel(name)
	return wire.SetModelReply{Model: name}, nil
}

func (s *server) changeThinking(_ context.Context, talk *harness.Conversation, r *wire.SetMaxThinkingTokens) (any, error) {
	talk.Agent.SetThinking(s.thinking(r))
	return nil, nil
}

// thinking sets the limit on thinking; without one it is what the session began with.
func (s *server) thinking(r *wire.SetMaxThinkingTokens) *model.ThinkingOptions {
	if r.MaxThinkingTokens != nil || s.opts.Talk.Thinking == nil {
		return harness.ThinkingTokens(r.MaxThinkingTokens, r.ThinkingDisplay)
	}
	first := *s.opts.Talk.Thinking
	first.Display = cmp.Or(r.ThinkingDisplay, first.Display)
	return &first
}

// withdraw takes back a prompt that no turn has taken up yet.
func (s *server) withdraw(_ context.Context, talk *harness.Conversation, r *wire.CancelAsyncMessage) (any, error) {
	gone := talk.Agent.Withdraw(r.MessageUUID)
	if gone {
		s.tell.lifecycle(r.MessageUUID, "cancelled")
	}
	return wire.CancelAsyncMessageReply{Cancelled: gone, Running: !gone && talk.Agent.Answers(r.MessageUUID)}, nil
}

package headless

import (
	"context"
	"errors"
	"time"

	"github.com/haftdev/haft/harness"
	"github.com/haftdev/haft/wire"
)

// ordered requests are answered before the next line is read: what the program
// sends after them counts on them.
func ordered(r wire.Request) bool {
	switch r.(type) {
	case *wire.Initialize, *wire.SetModel, *wire.SetPermissionMode, *wire.SetMaxThinkingTokens, *wire.Interrupt, *wire.EndSession, *wire.CancelAsyncMessage:
		return true
	}
	return false
}

// handle answers a control request. Those about the conversation open it.
func (s *server) handle(ctx context.Context, r wire.Request) (any, error) {
	switch r := r.(type) {
	case *wire.Initialize:
		return s.initialize(r)
	case *wire.EndSession:
		s.mu.Lock()
		s.closing = true
		s.mu.Unlock()
		if talk := s.opened(); talk != nil {
			talk.Reconsider()
		}
		s.wake()
		return nil, nil
	case *wire.GetBinaryVersion:
		return wire.BinaryVersionReply{Version: s.opts.Version}, nil
	case *wire.ListModels:
		return wire.ListModelsReply{Models: models()}, nil
	}
	talk := s.opened()
	if talk == nil {
		return nil, errors.New("there is no conversation yet: send initialize first")
	}
	return s.handleTalk(ctx, talk, r)
}

// handleTalk answers a request about the conversation.
func (s *server) handleTalk(ctx context.Context, talk *harness.Conversation, r wire.Request) (any, error) {
	switch r := r.(type) {
	case *wire.Interrupt:
		return s.interrupt(talk, r), nil
	case *wire.SetPermissionMode:
		return s.setMode(talk, r.Mode)
	case *wire.SetModel:
		name := talk.Resolve(r.Model)
		talk.SetModel(name)
		return wire.SetModelReply{Model: name}, nil
	case *wire.SetMaxThinkingTokens:
		talk.SetThinking(harness.ThinkingTokens(r.MaxThinkingTokens, r.ThinkingDisplay))
		return nil, nil
	case *wire.CancelAsyncMessage:
		gone := talk.Withdraw(r.MessageUUID)
		if gone {
			s.tell.lifecycle(r.MessageUUID, "cancelled")
		}
		return wire.CancelAsyncMessageReply{Cancelled: gone}, nil
	case *wire.GetContextUsage:
		return s.contextUsage(talk), nil
	case *wire.GetUsage:
		return s.usage(talk), nil
	case *wire.GetSessionCost:
		return wire.TextReply{Text: talk.CostText()}, nil
	case *wire.ReloadSkills:
		return s.reloadSkills(talk)
	case *wire.ReadFile:
		return s.readFile(talk, r)
	case *wire.GetSettings:
		return s.settings(talk), nil
	case *wire.ListPermissionRules:
		return s.permissionRules(talk), nil
	case *wire.GetHooksListing:
		return s.hooksListing(talk), nil
	case *wire.BackgroundTasks:
		none := false
		return wire.BackgroundTasksReply{Backgrounded: &none}, nil
	case *wire.StopTask:
		_ = talk.StopTask(ctx, r.TaskID) // one that has ended is what was wanted
		return wire.Empty{}, nil
	case *wire.RewindFiles:
		return s.rewind(ctx, talk, r)
	case *wire.ApplyFlagSettings:
		return nil, s.applySettings(talk, r)
	case *wire.SeedReadState:
		return nil, talk.World.Seed(r.Path, time.UnixMilli(int64(r.MTime)))
	case *wire.ReloadPlugins:
		return s.plugins(talk), nil
	case *wire.ReloadOutputStyles:
		return wire.ReloadOutputStylesReply{AvailableOutputStyles: wire.List[string]{"default"}}, nil
	}
	if reply, ok, err := s.handleMCP(ctx, talk, r); ok {
		return reply, err
	}
	return nil, wire.Unsupported(r)
}

// interrupt stops the turn. The answer does not wait for that.
func (s *server) interrupt(talk *harness.Conversation, r *wire.Interrupt) wire.InterruptReply {
	var reply wire.InterruptReply
	for _, p := range talk.Queued() {
		if r.CancelQueued && talk.Withdraw(p.UUID) {
			reply.Cancelled = append(reply.Cancelled, p.UUID)
			s.tell.lifecycle(p.UUID, "cancelled")
		} else {
			reply.StillQueued = append(reply.StillQueued, p.UUID)
		}
	}
	talk.Interrupt("")
	return reply
}

package headless

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model"
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

// answered ends the session once the program has heard that it will.
func (s *server) answered(r wire.Request) {
	if _, ok := r.(*wire.EndSession); !ok {
		return
	}
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	if talk := s.opened(); talk != nil {
		talk.Reconsider()
	}
	s.wake()
}

// handleTalk answers a request about the conversation.
func (s *server) handleTalk(ctx context.Context, talk *harness.Conversation, r wire.Request) (any, error) {
	for _, answer := range []func(context.Context, *harness.Conversation, wire.Request) (any, bool, error){
		s.handleCourse, s.handleFacts, s.handleWork, s.handleMCP,
	} {
		if reply, ok, err := answer(ctx, talk, r); ok {
			return reply, err
		}
	}
	return nil, wire.Unsupported(r)
}

// handleCourse answers a request that changes how the conversation goes on.
func (s *server) handleCourse(ctx context.Context, talk *harness.Conversation, r wire.Request) (reply any, ok bool, err error) {
	switch r := r.(type) {
	case *wire.Interrupt:
		reply = s.interrupt(talk, r)
	case *wire.SetPermissionMode:
		reply, err = s.setMode(talk, r.Mode)
		s.settle(ctx, talk)
	case *wire.SetModel:
		name := talk.Resolve(r.Model)
		talk.SetModel(name)
		reply = wire.SetModelReply{Model: name}
	case *wire.SetMaxThinkingTokens:
		talk.SetThinking(s.thinking(r))
	case *wire.CancelAsyncMessage:
		gone := talk.Withdraw(r.MessageUUID)
		if gone {
			s.tell.lifecycle(r.MessageUUID, "cancelled")
		}
		reply = wire.CancelAsyncMessageReply{Cancelled: gone}
	case *wire.ApplyFlagSettings:
		err = s.applySettings(talk, r)
	case *wire.UpdateSettings:
		reply, err = wire.Empty{}, s.updateSettings(ctx, talk, r)
	case *wire.RenameSession:
		err = s.rename(ctx, talk, r)
		s.settle(ctx, talk)
	case *wire.GenerateSessionTitle:
		reply, err = s.proposeTitle(ctx, talk, r)
		s.settle(ctx, talk)
	case *wire.SetHasSubscribers: // nothing is held back that could come sooner
	default:
		return nil, false, nil
	}
	return reply, true, err
}

// handleFacts answers a request that asks what there is.
func (s *server) handleFacts(_ context.Context, talk *harness.Conversation, r wire.Request) (reply any, ok bool, err error) {
	switch r := r.(type) {
	case *wire.GetContextUsage:
		reply = s.contextUsage(talk)
	case *wire.GetUsage:
		reply = s.usage(talk)
	case *wire.GetSessionCost:
		reply = wire.TextReply{Text: talk.CostText()}
	case *wire.GetSettings:
		reply = s.settings(talk)
	case *wire.ListPermissionRules:
		reply, err = s.permissionRules(talk)
	case *wire.GetHooksListing:
		reply = s.hooksListing(talk)
	case *wire.ReloadSkills:
		reply = s.reloadSkills(talk)
	case *wire.ReloadPlugins:
		reply, err = s.reloadPlugins(talk, r)
	case *wire.ReloadOutputStyles:
		reply = wire.ReloadOutputStylesReply{AvailableOutputStyles: wire.List[string]{"default"}}
	default:
		return nil, false, nil
	}
	return reply, true, err
}

// handleWork answers a request about files and about what runs.
func (s *server) handleWork(ctx context.Context, talk *harness.Conversation, r wire.Request) (reply any, ok bool, err error) {
	switch r := r.(type) {
	case *wire.ReadFile:
		reply, err = s.readFile(talk, r)
	case *wire.FileSuggestions:
		reply, err = s.suggest(ctx, talk, r)
	case *wire.RewindFiles:
		reply, err = s.rewind(ctx, talk, r)
	case *wire.SeedReadState:
		_ = talk.World.Seed(r.Path, time.UnixMilli(int64(r.MTime))) // a file that is gone is not known
	case *wire.RegisterRepoRoot:
		reply, err = s.registerRoot(talk, r)
	case *wire.BackgroundTasks:
		reply = background(talk, r)
	case *wire.GetTaskOutput:
		reply, err = taskOutput(talk, r)
	case *wire.StopTask:
		_ = talk.StopTask(ctx, r.TaskID) // one that has ended is what was wanted
		reply = wire.Empty{}
	default:
		return nil, false, nil
	}
	return reply, true, err
}

// thinking bounds thinking anew; without a bound it is what the session began with.
func (s *server) thinking(r *wire.SetMaxThinkingTokens) *model.ThinkingOptions {
	if r.MaxThinkingTokens != nil || s.opts.Talk.Thinking == nil {
		return harness.ThinkingTokens(r.MaxThinkingTokens, r.ThinkingDisplay)
	}
	first := *s.opts.Talk.Thinking
	first.Display = cmp.Or(r.ThinkingDisplay, first.Display)
	return &first
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

package acp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/drive"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/model"
)

// A session is a conversation with the client's user. One goroutine reads what happens
// in it and tells the client.
type session struct {
	id     string
	srv    *server
	client *capabilities
	talk   *harness.Conversation
	drive  *drive.Driver
	tell   *teller

	ctx  context.Context
	stop context.CancelFunc
	done chan struct{} // closed when nothing more is told

	mu      sync.Mutex
	prompts map[string]*prompt // that are not answered yet, by UUID
	started bool               // run was
	closing bool
	closed  sync.Once

	// previews are what calls that were asked about would change, by use id: it is
	// shown again when they have.
	previews sync.Map
	// parents are the calls that sub-agents work for, by their ids.
	parents sync.Map
}

// A prompt is one that the client waits for.
type prompt struct {
	uuid      string
	request   *request
	cancelled bool
}

// run tells the client what happens until the session is closed.
func (s *session) run() {
	defer close(s.done)
	for ev, err := range s.drive.Run(s.ctx) {
		if err != nil {
			return
		}
		if a, ok := ev.(drive.CommandDone); ok {
			s.commandDone(a)
			continue
		}
		s.tell.event(ev)
		if r, ok := ev.(agent.Result); ok {
			s.turnEnded(r)
		}
	}
}

// commandDone answers a command that no model was asked about.
func (s *session) commandDone(a drive.CommandDone) {
	text, reason := a.Text, stopEndTurn
	switch {
	case errors.Is(a.Err, drive.ErrStopped):
		text, reason = "", stopCancelled
	case a.Err != nil:
		text = a.Err.Error()
	}
	if text != "" {
		s.tell.say(text)
	}
	s.answer(a.Prompt.UUID, promptReply{StopReason: reason}, nil)
}

// answer answers a prompt, once.
func (s *session) answer(uuid string, reply promptReply, err error) {
	s.mu.Lock()
	p := s.prompts[uuid]
	delete(s.prompts, uuid)
	cancelled := p != nil && p.cancelled
	s.mu.Unlock()
	switch {
	case p == nil:
	case cancelled:
		p.request.reply(promptReply{StopReason: stopCancelled, Usage: reply.Usage}, nil)
	default:
		p.request.reply(reply, err)
	}
}

// interrupt stops everything that runs, as the user wants. What has not begun never
// does.
func (s *session) interrupt() {
	s.mu.Lock()
	for _, p := range s.prompts {
		p.cancelled = true
	}
	s.mu.Unlock()
	for _, p := range s.drive.TakeBack(math.MaxInt) {
		s.answer(p.UUID, promptReply{StopReason: stopCancelled}, nil)
	}
	s.drive.Interrupt()
}

// takeBack stops one prompt that the client does not want answered any more.
func (s *session) takeBack(p *prompt) {
	s.mu.Lock()
	waits := s.prompts[p.uuid] == p
	p.cancelled = p.cancelled || waits
	s.mu.Unlock()
	switch {
	case !waits:
	case s.drive.Withdraw(p.uuid):
		s.answer(p.uuid, promptReply{StopReason: stopCancelled}, nil)
	default:
		s.interrupt()
	}
}

// close ends the session and everything it has started.
func (s *session) close() { s.closed.Do(s.end) }

func (s *session) end() {
	s.mu.Lock()
	s.closing = true
	started := s.started
	s.mu.Unlock()
	s.interrupt()
	s.stop()
	if started {
		<-s.done
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), closeTime, fmt.Errorf("the session did not end within %s", closeTime))
	defer cancel()
	if _, err := s.drive.Close(ctx); err != nil {
		fmt.Fprintf(s.srv.opts.Log, "haft: could not end the session: %s\n", visible.Indented(err.Error()))
	}
	for _, uuid := range s.unanswered() {
		s.answer(uuid, promptReply{StopReason: stopCancelled}, nil)
	}
}

// unanswered are the prompts that the client still waits for.
func (s *session) unanswered() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.prompts))
}

// turnEnded answers the prompts of a turn.
func (s *session) turnEnded(r agent.Result) {
	reason, err := stopReason(r)
	for _, p := range r.Prompts {
		s.answer(p.UUID, promptReply{StopReason: reason, Usage: usageOf(r.Usage)}, err)
	}
}

// stopReason is why a turn ended, as the protocol has it. What the model's server did
// wrong was said in the conversation: editors take an error for a crash.
func stopReason(r agent.Result) (string, error) {
	switch r.Reason {
	case agent.AbortedTools, agent.AbortedStreaming, agent.Superseded:
		return stopCancelled, nil
	case agent.MaxTurns:
		return stopMaxRequests, nil
	case agent.OutputExhausted:
		return stopMaxTokens, nil
	case agent.Refused:
		return stopRefusal, nil
	case agent.JournalFailure, agent.TakenOver, agent.Crashed, agent.ToolFailure:
		return "", errors.New(failure(r))
	case agent.APIError:
		if r.Err != nil && r.Err.Kind == model.Unauthorized {
			return "", errorf(codeAuthRequired, "%s", visible.Indented(failure(r)))
		}
	}
	return stopEndTurn, nil
}

// update tells the client something about the session.
func (s *session) update(update any) {
	_ = s.srv.conn.notify(methodUpdate, map[string]any{"sessionId": s.id, "update": update}) // a client that is gone ends the connection
}

package acp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/haftdev/haft/agent"
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
	tell   *teller

	ctx  context.Context
	stop context.CancelFunc
	news chan struct{} // holds a token when there may be something to do
	done chan struct{} // closed when nothing more is told

	mu      sync.Mutex
	prompts map[string]*prompt // that are not answered yet, by UUID
	typed   []*prompt          // commands, and what came after them
	compact []*prompt          // that wait for a compaction
	command context.CancelFunc // ends the command that is being read; nil if none is
	running bool               // events are told
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
	agent.Prompt
	text      string // if it may be a command
	request   *request
	cancelled bool
}

// run takes turns, and the commands between them, until the session is closed.
func (s *session) run() {
	defer close(s.done)
	for s.ctx.Err() == nil {
		s.turns()
		if p := s.nextTyped(); p != nil {
			s.carryOut(p)
			continue
		}
		select {
		case <-s.news:
		case <-s.ctx.Done():
		}
	}
}

// turns takes the turns that are queued, and waits for tasks in the background, whose
// ends are turns, too.
func (s *session) turns() {
	s.setRunning(true)
	defer s.setRunning(false)
	for ev, err := range s.talk.RunAwaiting(s.ctx, s.awaits) {
		if err != nil {
			return
		}
		if m, ok := ev.(harness.Mark); ok {
			m.Reached()
			continue
		}
		s.tell.event(ev)
		if r, ok := ev.(agent.Result); ok {
			s.turnEnded(r)
		}
	}
}

// awaits reports whether to wait for a task: not while a command waits, which is not
// part of a turn.
func (s *session) awaits(agent.Task) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.closing && len(s.typed) == 0
}

func (s *session) setRunning(running bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = running
}

// catchUp waits until the client was told what has happened so far.
func (s *session) catchUp(ctx context.Context) {
	s.mu.Lock()
	running := s.running
	s.mu.Unlock()
	if running {
		s.talk.CatchUp(ctx, s.wake)
	}
}

func (s *session) wake() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

func (s *session) nextTyped() *prompt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.typed) == 0 {
		return nil
	}
	p := s.typed[0]
	s.typed = s.typed[1:]
	return p
}

// answer answers a prompt, once.
func (s *session) answer(uuid, reason string, err error) {
	s.mu.Lock()
	p := s.prompts[uuid]
	delete(s.prompts, uuid)
	cancelled := p != nil && p.cancelled
	s.mu.Unlock()
	switch {
	case p == nil:
	case cancelled:
		p.request.reply(promptReply{stopCancelled}, nil)
	default:
		p.request.reply(promptReply{reason}, err)
	}
}

// interrupt stops everything that runs, as the user wants. What has not begun never
// does.
func (s *session) interrupt() {
	s.mu.Lock()
	var waiting []string
	for uuid, p := range s.prompts {
		p.cancelled = true
		if s.withdrawLocked(p) {
			waiting = append(waiting, uuid)
		}
	}
	if s.command != nil {
		s.command()
	}
	s.mu.Unlock()
	for _, uuid := range waiting {
		s.answer(uuid, stopCancelled, nil)
	}
	s.talk.Agent.Interrupt("")
	s.talk.Agent.Reconsider()
}

// withdrawLocked takes a prompt back that has not begun, and reports whether it had not.
func (s *session) withdrawLocked(p *prompt) bool {
	n := len(s.typed)
	s.typed = slices.DeleteFunc(s.typed, func(t *prompt) bool { return t == p })
	return len(s.typed) < n || s.talk.Agent.Withdraw(p.UUID)
}

// takeBack stops one prompt that the client does not want answered any more.
func (s *session) takeBack(p *prompt) {
	s.mu.Lock()
	waits := s.prompts[p.UUID] == p
	p.cancelled = p.cancelled || waits
	withdrawn := waits && s.withdrawLocked(p)
	s.mu.Unlock()
	switch {
	case withdrawn:
		s.answer(p.UUID, stopCancelled, nil)
	case waits:
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
	if err := s.talk.Close(ctx); err != nil {
		fmt.Fprintf(s.srv.opts.Log, "haft: could not end the session: %s\n", visible.Indented(err.Error()))
	}
	for _, uuid := range s.unanswered() {
		s.answer(uuid, stopCancelled, nil)
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
		s.answer(p.UUID, reason, err)
	}
	if r.Command != "compact" {
		return
	}
	s.mu.Lock()
	var uuid string
	if len(s.compact) > 0 {
		uuid, s.compact = s.compact[0].UUID, s.compact[1:]
	}
	s.mu.Unlock()
	s.answer(uuid, reason, err)
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

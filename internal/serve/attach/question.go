package attach

import (
	"encoding/json"
	"errors"

	"github.com/haftdev/haft/internal/serve"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/wire"
)

// ask asks what is open and not asked here yet, and takes back what is open no more.
func (s *Stream) ask(open []serve.Question) {
	s.mu.Lock()
	if !s.answers {
		s.mu.Unlock()
		return
	}
	var say []wire.Message
	still := map[string]bool{}
	for _, q := range open {
		still[q.ID] = true
		if old := s.asked[q.ID]; old != nil && old.Digest == q.Digest {
			continue
		} else if old != nil {
			say = append(say, &wire.ControlCancelRequest{RequestID: old.request})
		}
		if len(s.asked) >= maxAsked {
			continue // each waits in a goroutine of its own; the rest comes when some are answered
		}
		if m := s.askLocked(q); m != nil {
			say = append(say, m)
		}
	}
	for id, old := range s.asked {
		if !still[id] {
			delete(s.asked, id)
			say = append(say, &wire.ControlCancelRequest{RequestID: old.request})
		}
	}
	s.mu.Unlock()
	for _, m := range say {
		s.tell(m)
	}
}

// maxAsked is how many questions are open here at the same time.
const maxAsked = 100

// askLocked notes a question and returns the request that asks it; nil if it cannot be
// asked here.
func (s *Stream) askLocked(q serve.Question) wire.Message {
	var request wire.Request = &wire.CanUseTool{}
	if q.Kind == "elicitation" {
		request = &wire.Elicitation{}
	}
	if json.Unmarshal(q.Request, request) != nil {
		return nil
	}
	a := &asked{q, session.NewUUID()}
	s.asked[q.ID] = a
	return &wire.ControlRequest{RequestID: a.request, Request: request}
}

// answer sends what the user has answered.
func (s *Stream) answer(r wire.Response) {
	s.mu.Lock()
	var q *asked
	for _, a := range s.asked {
		if a.request == r.RequestID {
			q = a
		}
	}
	s.mu.Unlock()
	if q == nil || r.Subtype != "success" {
		return // it was taken back
	}
	go func() {
		err := s.server.Answer(s.ctx, s.row.ID, &serve.Answer{Question: q.ID, Digest: q.Digest, Answer: r.Response})
		if err == nil {
			return
		}
		var p *serve.Problem
		if errors.As(err, &p) && (p.Code == "answered" || p.Code == "withdrawn") {
			s.remark(p.Message)
			return
		}
		s.remark("The answer was not accepted: " + err.Error())
		s.mu.Lock()
		var again wire.Message
		if s.asked[q.ID] == q {
			again = s.askLocked(q.Question)
		}
		s.mu.Unlock()
		if again != nil {
			s.tell(again)
		}
	}()
}

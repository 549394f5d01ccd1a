package acp

import (
	"context"
	"fmt"
)

// replayed is how many messages of an earlier conversation are told at least.
const replayed = 2000

// replay tells what was said before.
func (s *session) replay(ctx context.Context) {
	past := s.talk.Past(ctx, replayed)
	if len(past) >= replayed {
		s.tell.notice("info", fmt.Sprintf("Only the last %d messages of this session are shown. 'haft sessions show' has all of them.", len(past)))
	}
	s.tell.replaying = true
	for _, e := range past {
		for _, b := range e.Message.Content {
			s.tell.replay(e, b)
		}
	}
	for id := range s.tell.calls { // what never returned does not run
		s.tell.send(callUpdate{Update: updateCallChange, ID: id, Status: statusFailed})
	}
	clear(s.tell.calls)
	s.tell.replaying = false
	s.tell.planned(s.talk.WorkList())
}

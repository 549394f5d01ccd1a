package acp

import (
	"context"
	"errors"
	"testing"
)

// Of lists that wait for others, those are not made that nobody waits for any more.
func TestAListThatNobodyWaitsForIsNotMade(t *testing.T) {
	s := &server{listing: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, busy := range []bool{true, false} {
		if busy {
			s.listing <- struct{}{}
		} else {
			<-s.listing
		}
		if reply, err := s.listSessions(&request{ctx: ctx}); !errors.Is(err, context.Canceled) {
			t.Errorf("with others before it: %v: %v, %v", busy, reply, err)
		}
	}
}

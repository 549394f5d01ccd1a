package headless

import (
	"errors"
	"testing"

	"github.com/haftdev/haft/wire"
)

// Every row answers the type whose name it has, and answers no other.
func TestEveryRowServesItsOwnRequest(t *testing.T) {
	s := &server{}
	table := s.requests()
	kinds := 0
	for _, k := range wire.Requests() {
		row, ok := table[k.New().Subtype()]
		if !ok {
			continue
		}
		kinds++
		if row.subtype == "initialize" { // which would open a conversation
			continue
		}
		if _, served, _ := row.answer(t.Context(), k.New()); !served {
			t.Errorf("%s is not served by its row", row.subtype)
		}
		if _, served, _ := row.answer(t.Context(), &wire.UnknownRequest{Name: row.subtype}); served {
			t.Errorf("%s is served though its fields could not be read", row.subtype)
		}
	}
	if kinds != len(table) || kinds < 30 {
		t.Errorf("%d kinds of requests have a row, and there are %d rows", kinds, len(table))
	}
}

func TestBeforeTheConversationThereIsOneAnswer(t *testing.T) {
	s := &server{opts: Options{Version: "v1"}}
	s.table = s.requests()
	for _, r := range []wire.Request{&wire.SetModel{}, &wire.MCPStatus{}, &wire.UnknownRequest{Name: "set_model"}, &wire.UnknownRequest{Name: "of_the_future"}} {
		if _, err := s.handle(t.Context(), r); !errors.Is(err, errNotOpened) {
			t.Errorf("%s: %v, want %v", r.Subtype(), err, errNotOpened)
		}
	}
	if reply, err := s.handle(t.Context(), &wire.GetBinaryVersion{}); err != nil || reply != (wire.BinaryVersionReply{Version: "v1"}) {
		t.Errorf("get_binary_version: %v, %v", reply, err)
	}
}

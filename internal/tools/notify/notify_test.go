package notify_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/haftdev/haft/internal/tools/notify"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
)

func TestConformance(t *testing.T) {
	x := notify.New(func(context.Context, string) []string { return []string{"terminal"} })
	tooltest.Run(t, tooltest.Subject{Tool: x, Valid: []string{`{"message":"Done."}`, `{"message":"Done.","status":"proactive"}`}})
}

// TestOnlyTextArrives: a terminal must not obey what a model writes.
func TestOnlyTextArrives(t *testing.T) {
	var sent atomic.Value
	x := notify.New(func(_ context.Context, text string) []string {
		sent.Store(text)
		return []string{"terminal", "desktop"}
	})
	for message, want := range map[string]string{
		`a\u001b]9;b\u0007c`:        "a]9;bc",
		`one\n\ttwo\u202e three`:    "one two three",
		`雪 done`:                    "雪 done",
		strings.Repeat("x", 300):    strings.Repeat("x", 199) + "…",
		`\u009d52;c;cm0tcmY=\u009c`: "52;c;cm0tcmY=",
	} {
		r, err := x.Run(t.Context(), &tool.Call{Input: []byte(`{"message":"` + message + `"}`)})
		if err != nil || sent.Load() != want || !strings.Contains(r.Text(), "terminal and desktop") {
			t.Errorf("%q was sent as %q: %v, %v", message, sent.Load(), r, err)
		}
	}
	if _, err := x.Run(t.Context(), &tool.Call{Input: []byte(`{"message":" \u0007 "}`)}); err == nil {
		t.Error("nothing was sent, and that is not said")
	}
	none := notify.New(func(context.Context, string) []string { return nil })
	if r, err := none.Run(t.Context(), &tool.Call{Input: []byte(`{"message":"x"}`)}); err != nil || !r.Failed {
		t.Errorf("got %v, %v", r, err)
	}
}

package tooltest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/haftdev/haft/tool"
)

// What a tool may give back: the most characters it may ask to show, and the most
// bytes it may hold.
const (
	maxLimit  = 1_000_000
	maxResult = 64 << 20
)

func (s *Subject) results(t *testing.T) {
	for _, in := range s.Valid {
		s.reset(t)
		leak := watchGoroutines()
		c := s.call(t, in)
		r, err, returned := s.run(t.Context(), c, runPatience)
		switch {
		case !returned:
			t.Fatalf("input %s: still running after %s", in, runPatience)
		case err != nil:
			t.Errorf("input %s: %v", in, err)
		default:
			s.checkResult(t, in, r)
		}
		leak.check(t, in)
	}
}

func (s *Subject) checkResult(t *testing.T, in string, r tool.Result) {
	t.Helper()
	if r.Failed {
		t.Errorf("input %s: a valid input failed: %s", in, r.Text())
	}
	if len(r.Content) == 0 {
		t.Errorf("input %s: a result without content: the model would not know what happened", in)
	}
	size := len(r.Text())
	for _, b := range r.Content {
		if !b.Known() {
			t.Errorf("input %s: a block of the unknown type %q", in, b.Type)
		}
		size += len(b.Data)
	}
	if size > maxResult {
		t.Errorf("input %s: a result of %d bytes: the pipeline would cut it, but a tool must bound what it holds in memory", in, size)
	}
	if !utf8.ValidString(r.Text()) {
		t.Errorf("input %s: text that is not UTF-8", in)
	}
	if s.Tool.SummarizeResult != nil && strings.Contains(s.Tool.SummarizeResult(r), "\n") {
		t.Errorf("input %s: the result's summary has more than one line", in)
	}
	out, err := json.Marshal(r.Output)
	if err != nil {
		t.Errorf("input %s: the output is not JSON: %v", in, err)
		return
	}
	if s.Tool.Output != nil {
		if _, _, err := s.Tool.Output.View(nil).Check(out); err != nil {
			t.Errorf("input %s: the output does not match its schema: %v", in, err)
		}
	}
}

// concurrent runs calls that say they may, for the race detector to see.
func (s *Subject) concurrent(t *testing.T) {
	for _, in := range s.Valid {
		if !s.Tool.MarksOf(s.call(t, in)).ConcurrencySafe {
			continue
		}
		s.reset(t)
		var calls sync.WaitGroup
		for range 4 {
			c := s.call(t, in)
			calls.Go(func() {
				if _, err, returned := s.run(t.Context(), c, runPatience); err != nil || !returned {
					t.Errorf("input %s, beside itself: returned %t, %v", in, returned, err)
				}
			})
		}
		calls.Wait()
	}
}

func (s *Subject) cancels(t *testing.T) {
	inputs := s.Valid
	if s.Slow != "" {
		inputs = append([]string{s.Slow}, inputs...)
	}
	for i, in := range inputs {
		s.reset(t)
		leak := watchGoroutines()
		ctx, cancel := context.WithCancel(t.Context())
		if i == 0 && s.Slow != "" {
			time.AfterFunc(100*time.Millisecond, cancel) // in the middle of its work
		} else {
			cancel() // before it begins
		}
		began := time.Now()
		_, err, returned := s.run(ctx, s.call(t, in), cancelPatience)
		cancel()
		if !returned {
			t.Fatalf("input %s: still running %s after it was cancelled", in, cancelPatience)
		}
		var forModel *tool.Error
		if err != nil && !errors.Is(err, context.Canceled) && !errors.As(err, &forModel) {
			t.Errorf("input %s: cancelled, it ends the turn with %v", in, err)
		}
		if i == 0 && s.Slow != "" && err == nil && time.Since(began) < 50*time.Millisecond {
			t.Errorf("input %s is not slow", in)
		}
		leak.check(t, in)
	}
}

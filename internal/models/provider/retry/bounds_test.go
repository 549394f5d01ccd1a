package retry

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/haftdev/haft/model"
)

// TestWaitingIsBounded asks servers that want to be left alone for long.
func TestWaitingIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		after   time.Duration
		opts    Options
		waits   time.Duration
		asked   int
		message string
	}{
		"a day":                        {24 * time.Hour, Options{}, 0, 1, "the next retry would be in 24h0m0s, at 20"},
		"what adds up":                 {4 * time.Minute, Options{}, 8 * time.Minute, 3, "at most 10m0s"},
		"what is asked for is settled": {24 * time.Hour, Options{Wait: 25 * time.Hour}, 24 * time.Hour, 2, "at most 25h0m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{attempts: []attempt{{err: &model.Error{Kind: model.RateLimited, Message: "slow down", RetryAfter: c.after}}}}
				_, err := run(New(f, &c.opts))
				if waited := time.Since(f.begin); waited != c.waits || len(f.asked) != c.asked {
					t.Errorf("waited %v, asked %d times", waited, len(f.asked))
				}
				failure, ok := errors.AsType[*model.Error](err)
				if !ok || !strings.Contains(failure.Message, c.message) || !strings.Contains(failure.Message, waitEnv) || failure.Temporary() {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

func TestAFallbackIsAskedInsteadOfWaitingForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{attempts: []attempt{{err: &model.Error{Kind: model.RateLimited, RetryAfter: 24 * time.Hour}}, good}}
		if _, err := run(New(f, &Options{Fallbacks: []string{"second"}})); err != nil || strings.Join(f.asked, " ") != "first second" {
			t.Errorf("asked %q, %v", f.asked, err)
		}
	})
}

func TestTheEnvironmentSetsTheWait(t *testing.T) {
	if got := FromEnv(func(string) string { return "5000" }).Wait; got != 5*time.Second {
		t.Errorf("wait %v", got)
	}
}

// TestAnAnswerIsBounded hears a model that never ends: it is left when the bound is
// reached.
func TestAnAnswerIsBounded(t *testing.T) {
	piece := model.Delta{Type: model.TextDelta, Text: strings.Repeat("x", 1<<20)}
	f := &fake{attempts: []attempt{{events: []model.Event{start, open}}}}
	for range 400 {
		f.attempts[0].events = append(f.attempts[0].events, piece)
	}
	heard := 0
	for ev, err := range New(f, nil).Stream(context.Background(), &model.Request{Model: "first"}) {
		if d, ok := ev.(model.Delta); ok {
			heard += len(d.Text)
		}
		if err != nil {
			if failure, ok := errors.AsType[*model.Error](err); !ok || !strings.Contains(failure.Message, "longer than the limit of 16 MB") {
				t.Errorf("error %v", err)
			}
		}
	}
	if heard != 16<<20 || len(f.asked) != 1 {
		t.Errorf("%d bytes were heard, asked %d times", heard, len(f.asked))
	}
}

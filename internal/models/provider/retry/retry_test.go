package retry

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/model"
)

// An attempt is how one request goes.
type attempt struct {
	events []model.Event
	err    error
}

// A fake goes through its attempts, and notes who was asked when.
type fake struct {
	attempts []attempt
	asked    []string
	begin    time.Time
}

func (f *fake) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if len(f.asked) == 0 {
			f.begin = time.Now()
		}
		f.asked = append(f.asked, req.Model)
		a := f.attempts[min(len(f.asked), len(f.attempts))-1]
		for _, ev := range a.events {
			if !yield(ev, nil) {
				return
			}
		}
		if a.err != nil {
			yield(nil, a.err)
		}
	}
}

var (
	start = model.Start{ID: "m"}
	open  = model.BlockStart{Block: model.Block{Type: model.Text}}
	piece = model.Delta{Type: model.TextDelta, Text: "x"}
	whole = model.BlockStop{Block: model.TextOf("x")}
	stop  = model.Stop{Reason: model.EndTurn}
	good  = attempt{events: []model.Event{start, open, piece, whole, stop}}
)

func fails(kind model.ErrorKind) *model.Error { return &model.Error{Kind: kind, Message: string(kind)} }

// run asks m and writes what comes as words, pauses without the part that is chance.
func run(m model.Model) (said []string, err error) {
	for ev, err := range m.Stream(context.Background(), &model.Request{Model: "first"}) {
		if err != nil {
			return said, err
		}
		switch ev := ev.(type) {
		case model.Retry:
			said = append(said, fmt.Sprintf("retry %d/%d %s", ev.Attempt, ev.Max, ev.Err.Kind))
		case model.Fallback:
			said = append(said, "fallback "+ev.From+" "+ev.To)
		default:
			said = append(said, fmt.Sprintf("%T", ev)[len("model."):])
		}
	}
	return said, nil
}

func TestRetry(t *testing.T) {
	all := []string{"Start", "BlockStart", "Delta", "BlockStop", "Stop"}
	overloaded := attempt{err: fails(model.Overloaded)}
	no := false
	for _, c := range []struct {
		name     string
		attempts []attempt
		opts     Options
		want     []string
		err      model.ErrorKind
		asked    []string
	}{
		{"a good answer passes through", []attempt{good}, Options{}, all, "", []string{"first"}},
		{"what passes is tried again", []attempt{{err: fails(model.RateLimited)}, {err: fails(model.ServerFailure)}, good}, Options{},
			append([]string{"retry 1/10 rate_limit", "retry 2/10 server_error"}, all...), "", []string{"first", "first", "first"}},
		{"what does not pass is not", []attempt{{err: fails(model.Unauthorized)}}, Options{}, nil, model.Unauthorized, []string{"first"}},
		{"the server's own word counts", []attempt{{err: &model.Error{Kind: model.ServerFailure, ShouldRetry: &no}}}, Options{}, nil, model.ServerFailure, []string{"first"}},
		{"a cut before a whole block begins again", []attempt{{[]model.Event{start, open, piece}, fails(model.ConnectionLost)}, good}, Options{},
			append([]string{"Start", "BlockStart", "Delta", "retry 1/10 connection_lost"}, all...), "", []string{"first", "first"}},
		{"a cut after a whole block does not", []attempt{{[]model.Event{start, open, piece, whole}, fails(model.ConnectionLost)}, good}, Options{},
			all[:4], model.ConnectionLost, []string{"first"}},
		{"patience ends", []attempt{{err: fails(model.Stalled)}}, Options{Max: 2},
			[]string{"retry 1/2 stalled", "retry 2/2 stalled"}, model.Stalled, []string{"first", "first", "first"}},
		{"there may be none", []attempt{{err: fails(model.Stalled)}}, Options{Max: -1}, nil, model.Stalled, []string{"first"}},
		{"three overloads lead to another model", []attempt{overloaded, overloaded, overloaded, good}, Options{Fallbacks: []string{"second"}},
			append([]string{"retry 1/10 overloaded", "retry 2/10 overloaded", "fallback first second"}, all...), "", []string{"first", "first", "first", "second"}},
		{"three that are not in a row do not", []attempt{overloaded, overloaded, {err: fails(model.Stalled)}, overloaded, good}, Options{Fallbacks: []string{"second"}},
			append([]string{"retry 1/10 overloaded", "retry 2/10 overloaded", "retry 3/10 stalled", "retry 4/10 overloaded"}, all...), "", []string{"first", "first", "first", "first", "first"}},
		{"a model that does not exist leads to another", []attempt{{err: fails(model.UnknownModel)}, good}, Options{Fallbacks: []string{"second"}},
			append([]string{"fallback first second"}, all...), "", []string{"first", "second"}},
		{"the last one that does not exist is an error", []attempt{{err: fails(model.UnknownModel)}}, Options{Fallbacks: []string{"second"}},
			[]string{"fallback first second"}, model.UnknownModel, []string{"first", "second"}},
		{"the last model has the usual patience", []attempt{overloaded}, Options{Max: 3, Fallbacks: []string{"second"}},
			[]string{"retry 1/3 overloaded", "retry 2/3 overloaded", "fallback first second", "retry 1/3 overloaded", "retry 2/3 overloaded", "retry 3/3 overloaded"},
			model.Overloaded, []string{"first", "first", "first", "second", "second", "second", "second"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{attempts: c.attempts}
				got, err := run(New(f, &c.opts))
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(c.asked, f.asked); diff != "" {
					t.Errorf("asked (-want +got):\n%s", diff)
				}
				if e, _ := errors.AsType[*model.Error](err); (e == nil) != (c.err == "") || e != nil && e.Kind != c.err {
					t.Errorf("error %v, want %q", err, c.err)
				}
			})
		})
	}
}

func TestPausesDouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(&fake{attempts: []attempt{{err: fails(model.ServerFailure)}}}, nil)
		begin := time.Now()
		base := []time.Duration{500, 1000, 2000, 4000, 8000, 16000, 32000, 32000, 32000, 32000}
		n := 0
		for ev := range m.Stream(context.Background(), &model.Request{}) {
			retry, ok := ev.(model.Retry)
			if !ok {
				continue
			}
			least := base[n] * time.Millisecond
			if retry.Delay < least || retry.Delay > least*6/5 {
				t.Errorf("pause %d is %v, want %v and at most a fifth more", n+1, retry.Delay, least)
			}
			if n++; n == 3 {
				begin = time.Now()
			}
			if n == 4 {
				if took := time.Since(begin); took < 2*time.Second || took > 2400*time.Millisecond {
					t.Errorf("it was kept for %v", took)
				}
			}
		}
		if n != 10 {
			t.Errorf("%d retries", n)
		}
	})
}

func TestRetryAfterIsObeyedExactly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{attempts: []attempt{{err: &model.Error{Kind: model.RateLimited, RetryAfter: 77 * time.Second}}, good}}
		if _, err := run(New(f, nil)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(f.begin); took != 77*time.Second {
			t.Errorf("asked again after %v", took)
		}
	})
}

func TestTheEndOfTheContextEndsThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		m := New(&fake{attempts: []attempt{{err: &model.Error{Kind: model.RateLimited, RetryAfter: time.Hour}}}}, &Options{Wait: 2 * time.Hour})
		begin := time.Now()
		var last error
		for _, err := range m.Stream(ctx, &model.Request{}) {
			last = err
		}
		if !errors.Is(last, context.DeadlineExceeded) || time.Since(begin) != 3*time.Second {
			t.Errorf("%v after %v", last, time.Since(begin))
		}
	})
}

func TestWhoeverLeavesIsNotAskedAgain(t *testing.T) {
	for name, leave := range map[string]func(model.Event) bool{
		"at a retry": func(ev model.Event) bool { _, ok := ev.(model.Retry); return ok },
		"at a piece": func(ev model.Event) bool { _, ok := ev.(model.Delta); return ok },
	} {
		f := &fake{attempts: []attempt{{[]model.Event{start, open, piece}, fails(model.ConnectionLost)}}}
		for ev := range New(f, nil).Stream(context.Background(), &model.Request{}) {
			if leave(ev) {
				break
			}
		}
		if len(f.asked) != 1 {
			t.Errorf("%s: asked %d times", name, len(f.asked))
		}
	}
}

func TestFromEnv(t *testing.T) {
	for value, want := range map[string]int{"": 0, "3": 3, "0": -1, "x": 0, "-2": -1} {
		if got := FromEnv(func(string) string { return value }).Max; got != want {
			t.Errorf("%q gives %d, want %d", value, got, want)
		}
	}
}

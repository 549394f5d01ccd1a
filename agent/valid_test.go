package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// rich is a turn with everything in it: thoughts, text, calls beside each other and
// alone, one that takes its time, one that must not be interrupted, one that is
// asked about, one that is malformed, and a second round.
func rich(t *testing.T) (*fake, *agent.Options, *atomic.Int32) {
	var written atomic.Int32
	slow := raw("Slow", func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
		select {
		case <-time.After(time.Second):
			return tool.Text("slept"), nil
		case <-ctx.Done():
			return tool.Result{}, ctx.Err()
		}
	})
	careful := raw("Careful", func(context.Context, *tool.Call) (tool.Result, error) {
		time.Sleep(time.Second)
		written.Add(1)
		return tool.Text("written"), nil
	})
	careful.OnInterrupt = tool.InterruptBlock
	pace := func(context.Context, int) { time.Sleep(100 * time.Millisecond) }
	first := says(thinks("Hm."), text("Let me see."), use("a", "Echo", `{"say":"one"}`), use("b", "Slow", `{}`), text("And then."),
		use("c", "Careful", `{}`), use("d", "Echo", `{"say": tru`))
	second := says(text("Once more."), use("e", "Ask", `{}`), text("We are done."))
	first.before, second.before = pace, pace
	f := &fake{t: t, answers: []reply{first, second}}
	o := world(f, slow, careful, raw("Ask", func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text("asked"), nil }))
	o.Sched.Judge = sched.JudgeFunc(func(_ context.Context, c tool.Case) tool.Verdict {
		if c.Call.Tool == "Ask" {
			return tool.Verdict{Behavior: tool.Ask}
		}
		return tool.Verdict{Behavior: tool.Allow}
	})
	o.Person = sched.AskerFunc(func(ctx context.Context, _ tool.Case, _ tool.Verdict) (tool.Verdict, error) {
		select {
		case <-time.After(time.Second):
			return tool.Verdict{Behavior: tool.Allow}, nil
		case <-ctx.Done():
			return tool.Verdict{}, ctx.Err()
		}
	})
	return f, o, &written
}

// A turn that is stopped at whatever event leaves a conversation that can be sent,
// and has told its one result.
func TestStoppedAnywhere(t *testing.T) {
	total := 0
	synctest.Test(t, func(t *testing.T) {
		f, o, _ := rich(t)
		total = len(run(t, start(t, o), "go"))
		if len(f.requests) != 3 {
			t.Fatalf("%d requests, want 3", len(f.requests))
		}
	})
	ways := map[string]func(a *agent.Agent, cancel context.CancelFunc){
		"interrupted": func(a *agent.Agent, _ context.CancelFunc) { a.Interrupt("") },
		"cancelled":   func(_ *agent.Agent, cancel context.CancelFunc) { cancel() },
		"cut short":   func(a *agent.Agent, _ context.CancelFunc) { p := userSays("stop"); p.Priority = agent.Now; a.Send(p) },
		"spoken into": func(a *agent.Agent, _ context.CancelFunc) { a.Send(userSays("by the way")) },
	}
	for way, stop := range ways {
		for at := range total {
			t.Run(fmt.Sprintf("%s at event %d", way, at), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { stopAt(t, at, stop, false) })
			})
		}
	}
	for at := range total {
		t.Run(fmt.Sprintf("left at event %d", at), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { stopAt(t, at, func(*agent.Agent, context.CancelFunc) {}, true) })
		})
	}
}

// stopAt runs the rich turn, stops it at an event, and continues afterwards.
func stopAt(t *testing.T, at int, stop func(*agent.Agent, context.CancelFunc), leave bool) {
	f, o, _ := rich(t)
	a := start(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a.Send(userSays("go"))
	n := 0
	turns, results := 0, 0
	count := func(ev agent.Event) {
		switch ev.(type) {
		case agent.TurnStarted:
			turns++
		case agent.Result:
			results++
		}
	}
	for ev := range a.Run(ctx) {
		count(ev)
		if n == at {
			if leave {
				break
			}
			stop(a, cancel)
		}
		n++
	}
	for _, ev := range run(t, a, "and now?") {
		count(ev)
	}
	if turns != results {
		t.Errorf("%d turns have %d results", turns, results)
	}
	if problem := invalid(decoded(t, a.History())); problem != "" {
		t.Errorf("what is left cannot be sent: %s\n%s", problem, encoded(a.History()))
	}
	last := f.requests[len(f.requests)-1].messages
	if final := last[len(last)-1]; final.Role != model.User {
		t.Errorf("the last request ends with %s", final.Role)
	}
}

// An answer that breaks off anywhere is asked for again or continues, and no call
// runs twice.
func TestCutAnywhere(t *testing.T) {
	for answer := range 2 {
		for n := 0; ; n++ {
			more := true
			synctest.Test(t, func(t *testing.T) {
				f, o, written := rich(t)
				whole := f.answers[answer]
				if n == len(whole.events) {
					more = false
					return
				}
				rest := append([]reply{whole.cut(n)}, f.answers[answer:]...)
				if n > 0 && lastStop(whole.events[:n]) >= 0 {
					rest = append([]reply{whole.cut(n)}, f.answers[answer+1:]...)
				}
				f.answers = append(f.answers[:answer:answer], rest...)
				a := start(t, o)
				evs := run(t, a, "go")
				res := result(t, evs)
				if n > 0 && res.Reason != agent.Completed {
					t.Errorf("cut after %d events of answer %d: %s %v", n, answer, res.Reason, res.Errors)
				}
				if written.Load() > 1 {
					t.Errorf("cut after %d events of answer %d: a call ran %d times", n, answer, written.Load())
				}
				said := map[string]bool{}
				for _, ev := range evs {
					switch ev := ev.(type) {
					case agent.Said:
						said[ev.UUID] = true
					case agent.Retracted:
						for _, id := range ev.UUIDs {
							if !said[id] {
								t.Errorf("%s was taken back and never said", id)
							}
						}
					}
				}
				sendable(t, a, f)
			})
			if !more {
				break
			}
		}
	}
}

// A client that begins an answer again takes back what it had said before, the
// calls that were not whole included. Once a call was, it is too late for that.
func TestBegunAgain(t *testing.T) {
	whole := says(text("Let me see."), say("a", "one"), say("b", "two"))
	for n := range len(whole.events) {
		f := &fake{t: t, answers: []reply{{events: append(slices.Clone(whole.events[:n]), whole.events...)}}}
		a := start(t, world(f))
		res := result(t, run(t, a, "go"))
		want := 2
		if at := lastStop(whole.events[:n]); at >= 0 {
			want = whole.events[at].(model.BlockStop).Index // the text comes before them
		}
		if res.Reason != agent.Completed || res.Calls != want {
			t.Errorf("begun again after %d events: %s after %d calls, want %d", n, res.Reason, res.Calls, want)
		}
		sendable(t, a, f)
	}
}

// lastStop returns the index of the last event that ends a call, or -1.
func lastStop(evs []model.Event) int {
	last := -1
	for i, ev := range evs {
		if s, ok := ev.(model.BlockStop); ok && s.Block.Type == model.ToolUse {
			last = i
		}
	}
	return last
}

// Whatever cannot be written down does not happen, and the turn ends with one
// result that says so.
func TestJournalFailsAnywhere(t *testing.T) {
	full := errors.New("no space left on device")
	for n := 0; ; n++ {
		more := true
		synctest.Test(t, func(t *testing.T) {
			f, o, written := rich(t)
			j := newJournal()
			broken := false
			j.fail = func(have int) error {
				if have >= n {
					broken = true
					return full
				}
				return nil
			}
			o.Journal = j
			a := start(t, o)
			res := result(t, run(t, a, "go"))
			if !broken {
				more = false
				return
			}
			if res.Reason != agent.JournalFailure {
				t.Errorf("after %d entries: %s %v", n, res.Reason, res.Errors)
			}
			dispatched := 0
			for _, r := range j.records {
				if r.Step == sched.Dispatched && r.Call.Tool == "Careful" {
					dispatched++
				}
			}
			if int(written.Load()) > dispatched {
				t.Errorf("after %d entries: a call ran that was not written down", n)
			}
			j.fail = nil
			sendable(t, a, f)
		})
		if !more || n > 1000 {
			break
		}
	}
}

// A front end that panics leaves nothing running, and the turn has its result.
func TestPanicInTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, o, _ := rich(t)
		a := start(t, o)
		a.Send(userSays("go"))
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			for ev := range a.Run(t.Context()) {
				if _, ok := ev.(agent.Returned); ok {
					panic("front end")
				}
			}
		}()
		if n := len(of[agent.Result](run(t, a))); n != 1 {
			t.Errorf("%d results are there for the next Run, want 1", n)
		}
		sendable(t, a, f)
	})
}

// A search of the provider's own that was cut before its result is not sent back.
func TestCutInTheProvidersOwnTool(t *testing.T) {
	search := model.Block{Type: "server_tool_use", Raw: []byte(`{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`)}
	whole := says(text("Searching."), search)
	stalled := reply{events: whole.events, before: func(ctx context.Context, i int) {
		if i == len(whole.events)-1 {
			<-ctx.Done()
		}
	}}
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, answers: []reply{stalled}}
		a := start(t, world(f))
		a.Send(userSays("search"))
		for ev := range a.Run(t.Context()) {
			if s, ok := ev.(agent.Said); ok && s.Block.Type == search.Type {
				a.Interrupt("")
			}
		}
		if sent := sendable(t, a, f); strings.Contains(fmt.Sprint(sent), "server_tool_use") {
			t.Errorf("it is sent back: %+v", sent)
		}
	})
}

// A crash in the middle of an answer leaves what happened in the conversation.
func TestCrashedAnywhere(t *testing.T) {
	for n := 0; ; n++ {
		more := true
		synctest.Test(t, func(t *testing.T) {
			f, o, written := rich(t)
			pace := f.answers[0].before
			more = n < len(f.answers[0].events)
			f.answers[0].before = func(ctx context.Context, i int) {
				pace(ctx, i)
				if i == n {
					panic("a fault in a client")
				}
			}
			a := start(t, o)
			res := result(t, run(t, a, "go"))
			if more && (res.Reason != agent.Crashed || !strings.Contains(res.Errors[0], "a fault in a client")) {
				t.Errorf("crashed at event %d: %s %v", n, res.Reason, res.Errors)
			}
			sent := sendable(t, a, f)
			if said := strings.Contains(fmt.Sprint(sent), "written"); said != (written.Load() > 0) {
				t.Errorf("crashed at event %d: a call ran %d times, and the model is told: %v", n, written.Load(), said)
			}
		})
		if !more {
			break
		}
	}
}

// An interrupt is answered at once, also while the model is silent.
func TestInterruptIsPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, answers: []reply{{events: says(text("never")).events, before: func(ctx context.Context, _ int) { <-ctx.Done() }}}}
		a := start(t, world(f))
		time.AfterFunc(time.Second, func() { a.Interrupt("") })
		began := time.Now()
		res := result(t, run(t, a, "go"))
		if res.Reason != agent.AbortedStreaming || time.Since(began) != time.Second {
			t.Errorf("%s after %s", res.Reason, time.Since(began))
		}
		last := sendable(t, a, f)
		if got := last[0].Content[1].Text; got != "[Request interrupted by user]" || len(last) != 1 {
			t.Errorf("the model reads %q", got)
		}
	})
}

// An interrupt that names a prompt stops its turn, whether the prompt began the turn or joined it,
// and never that of another one.
func TestAnInterruptNamesItsPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := reply{events: says(text("never")).events, before: func(ctx context.Context, _ int) { <-ctx.Done() }}
		f := &fake{t: t, answers: []reply{says(say("a", "1")), silent, says(text("Two."))}}
		a := start(t, world(f))
		send := func(uuid string, priority agent.Priority) {
			p := userSays(uuid)
			p.UUID, p.Priority = uuid, priority
			a.Send(p)
		}
		send("one", agent.Next)
		send("joins", agent.Next)
		send("two", agent.Later)
		time.AfterFunc(time.Second, func() {
			if a.InterruptPrompt("two") || a.InterruptPrompt("") || a.Answers("two") || !a.Answers("one") || !a.Answers("joins") {
				t.Error("the turn that runs is taken for that of another prompt")
			}
		})
		time.AfterFunc(2*time.Second, func() {
			if !a.InterruptPrompt("joins") {
				t.Error("a prompt that has joined the turn does not stop it")
			}
		})
		began := time.Now()
		var ends []string
		for ev := range a.Run(t.Context()) {
			if r, ok := ev.(agent.Result); ok {
				if ends = append(ends, string(r.Reason)); a.InterruptPrompt("one") {
					t.Error("a turn that has ended was interrupted")
				}
			}
		}
		if want := []string{string(agent.AbortedStreaming), string(agent.Completed)}; !slices.Equal(ends, want) || time.Since(began) != 2*time.Second {
			t.Errorf("the turns ended with %v after %s", ends, time.Since(began))
		}
	})
}

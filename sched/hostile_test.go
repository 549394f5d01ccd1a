package sched_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/guard/output"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// Tools, hooks, judges and askers are other people's code. These tests are the
// ways in which it may misbehave.

func outcomes(b *sched.Batch) (got []string) {
	for out := range b.Outcomes() {
		got = append(got, out.UseID+" "+out.Status.String())
	}
	return got
}

func TestCodeThatEndsItsGoroutineIsACrash(t *testing.T) {
	goexit := func() { runtime.Goexit() }
	for name, change := range map[string]func(*tool.Def[note, string]){
		"in Run": func(d *tool.Def[note, string]) {
			d.Run = func(context.Context, *tool.Call, note) (string, error) { goexit(); return "", nil }
		},
		"in Validate": func(d *tool.Def[note, string]) {
			d.Validate = func(context.Context, *tool.Call, note) *tool.Problem { goexit(); return nil }
		},
	} {
		if out := call(t, allowAll(), echo(change), `{}`); out.Status != sched.Failed || !strings.Contains(out.Result.Text(), "ended without a result") {
			t.Errorf("%s: %s %s", name, out.Status, out.Result.Text())
		}
	}
	// In the marks it ends the goroutine that brings the input.
	b := sched.New(allowAll()).Start(t.Context(), &sched.BatchOptions{Tools: set(echo(func(d *tool.Def[note, string]) {
		d.Marks = func(note) tool.Marks { goexit(); return tool.Marks{} }
	}))})
	var bringing sync.WaitGroup
	bringing.Go(func() { b.Add("1", "Echo", []byte(`{}`)) })
	bringing.Wait()
	b.End()
	if d := cmp.Diff([]string{"1 failed"}, outcomes(b)); d != "" {
		t.Errorf("in Marks (-want +got):\n%s", d)
	}
	asker := sched.AskerFunc(func(context.Context, tool.Case, tool.Verdict) (tool.Verdict, error) {
		goexit()
		return tool.Verdict{}, nil
	})
	if out := call(t, &sched.Options{Askers: []sched.Asker{asker}}, echo(), `{}`); out.Status != sched.Denied {
		t.Errorf("in an asker: %s", out.Status)
	}
}

func TestACrashOfAHookOrJudgeIsNotTheToolsFault(t *testing.T) {
	crash := func() { panic("boom") }
	for _, c := range []struct {
		name   string
		opts   *sched.Options
		status sched.Status
		says   string
	}{
		{"before", &sched.Options{Judge: verdict(tool.Allow), Hooks: hooks{before: func(*tool.Call) (tool.Verdict, []string) { crash(); return tool.Verdict{}, nil }}}, sched.Denied, "a hook crashed: boom"},
		{"judge", &sched.Options{Judge: sched.JudgeFunc(func(context.Context, tool.Case) tool.Verdict { crash(); return tool.Verdict{} })}, sched.Denied, "the rules could not be applied: boom"},
		{"after", &sched.Options{Judge: verdict(tool.Allow), Hooks: hooks{after: func(tool.Result) (*tool.Result, []string) { crash(); return nil, nil }}}, sched.Succeeded, "hi"},
	} {
		out := call(t, c.opts, echo(), `{"text":"hi"}`)
		if out.Status != c.status || !strings.Contains(out.Result.Text(), c.says) {
			t.Errorf("%s: %s %q", c.name, out.Status, out.Result.Text())
		}
	}
	for _, step := range []sched.Step{sched.Judged, sched.Dispatched, sched.Finished} {
		out := call(t, &sched.Options{Judge: verdict(tool.Allow), Recorder: recorder(func(r sched.Record) error {
			if r.Step == step {
				crash()
			}
			return nil
		})}, echo(), `{}`)
		if out.Fatal == nil {
			t.Errorf("a recorder that crashes at step %d does not end the turn", step)
		}
	}
}

// Whoever did not answer first hears of it at once: a question that is answered must
// not stay on a screen while the call runs.
func TestAskersThatLoseAreCancelledBeforeTheCallRuns(t *testing.T) {
	asked, gone := make(chan bool), make(chan bool)
	slow := sched.AskerFunc(func(ctx context.Context, _ tool.Case, _ tool.Verdict) (tool.Verdict, error) {
		close(asked)
		<-ctx.Done()
		close(gone)
		return tool.Verdict{}, ctx.Err()
	})
	quick := sched.AskerFunc(func(context.Context, tool.Case, tool.Verdict) (tool.Verdict, error) {
		<-asked
		return tool.Verdict{Behavior: tool.Allow}, nil
	})
	tl := echo(func(d *tool.Def[note, string]) {
		d.Run = func(ctx context.Context, _ *tool.Call, _ note) (string, error) {
			select {
			case <-gone:
				return "alone", nil
			case <-time.After(10 * time.Second):
				return "the question is still there", nil
			}
		}
	})
	if out := call(t, &sched.Options{Askers: []sched.Asker{slow, quick}}, tl, `{}`); out.Result.Text() != "alone" {
		t.Errorf("%s: %s", out.Status, out.Result.Text())
	}
}

func TestWhatIsAskedAboutIsWhatRuns(t *testing.T) {
	var shown string
	out := call(t, &sched.Options{
		Judge: sched.JudgeFunc(func(context.Context, tool.Case) tool.Verdict {
			return tool.Verdict{Behavior: tool.Ask, Input: json.RawMessage(`{"text":"rewritten"}`)}
		}),
		Askers: []sched.Asker{sched.AskerFunc(func(_ context.Context, c tool.Case, _ tool.Verdict) (tool.Verdict, error) {
			shown = string(c.Call.Input)
			return tool.Verdict{Behavior: tool.Allow}, nil
		})},
	}, echo(), `{"text":"original"}`)
	if shown != `{"text":"rewritten"}` || out.Result.Text() != "rewritten" {
		t.Errorf("asked about %s, ran %s", shown, out.Result.Text())
	}
}

// What a tool makes of its input, such as a path in full, is what the rules look at.
func TestWhatAToolMakesOfItsInputIsWhatIsJudged(t *testing.T) {
	var judged string
	out := call(t, &sched.Options{Judge: sched.JudgeFunc(func(_ context.Context, c tool.Case) tool.Verdict {
		judged = string(c.Call.Input)
		return tool.Verdict{Behavior: tool.Allow}
	})}, echo(func(d *tool.Def[note, string]) {
		d.Permission = func(context.Context, *tool.Call, note) tool.Verdict {
			return tool.Verdict{Input: json.RawMessage(`{"text":"rewritten"}`)}
		}
	}), `{"text":"original"}`)
	if judged != `{"text":"rewritten"}` || out.Result.Text() != "rewritten" {
		t.Errorf("judged %s, ran %s", judged, out.Result.Text())
	}
}

func TestADenialByAHookOrTheToolIsFinal(t *testing.T) {
	yes := []sched.Asker{answer(tool.Verdict{Behavior: tool.Allow})}
	denial := tool.Verdict{Behavior: tool.Deny, Message: "never"}
	byHook := hooks{before: func(*tool.Call) (tool.Verdict, []string) { return denial, nil }}
	byTool := echo(func(d *tool.Def[note, string]) {
		d.Permission = func(context.Context, *tool.Call, note) tool.Verdict { return denial }
	})
	for name, judge := range map[string]sched.Judge{"that allows": verdict(tool.Allow), "without a view": verdict(tool.NoView), "that is not there": nil} {
		for what, out := range map[string]*sched.Outcome{
			"hook": call(t, &sched.Options{Judge: judge, Askers: yes, Hooks: byHook}, echo(), `{}`),
			"tool": call(t, &sched.Options{Judge: judge, Askers: yes}, byTool, `{}`),
		} {
			if out.Status != sched.Denied || out.Result.Text() != "never" {
				t.Errorf("denied by the %s, with a judge %s: %s", what, name, out.Status)
			}
		}
	}
}

func TestWhatEndsTheTurnStopsWhatIsQueued(t *testing.T) {
	for name, opts := range map[string]*sched.Options{
		"a person wants no more": {Askers: []sched.Asker{answer(tool.Verdict{Behavior: tool.Deny, Interrupt: true})}},
		"an error":               {Judge: verdict(tool.Allow)},
	} {
		b := sched.New(opts).Start(t.Context(), &sched.BatchOptions{Tools: set(echo(func(d *tool.Def[note, string]) {
			d.Run = func(context.Context, *tool.Call, note) (string, error) { return "", errors.New("disk on fire") }
		}))})
		b.Add("1", "Echo", []byte(`{}`))
		b.Add("2", "Echo", []byte(`{}`))
		b.End()
		got := outcomes(b)
		if got[1] != "2 cancelled" {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestInputsArriveInAnyOrderAndKeepTheirPlace(t *testing.T) {
	b := sched.New(allowAll()).Start(t.Context(), &sched.BatchOptions{Tools: set(echo())})
	one, two, broken, cut := b.Open("1", "Echo"), b.Open("2", "Echo"), b.Open("3", "Echo"), b.Open("4", "Echo")
	io.WriteString(two, `{}`)
	io.WriteString(one, `{}`)
	two.Close()
	one.Close()
	one.Close() // a second time
	broken.Discard()
	broken.Close()
	io.WriteString(cut, `{"text":"ha`)
	b.End()
	if d := cmp.Diff([]string{"1 succeeded", "2 succeeded", "4 invalid"}, outcomes(b)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	defer func() {
		if recover() == nil {
			t.Error("a call after End was taken in, and nobody would ever read its outcome")
		}
	}()
	b.Add("5", "Echo", []byte(`{}`))
}

func TestAReaderMayLeaveAndComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := sched.New(&sched.Options{Judge: verdict(tool.Allow), CancelGrace: time.Second}).Start(ctx, &sched.BatchOptions{Tools: set(echo(func(d *tool.Def[note, string]) {
			d.Run = func(ctx context.Context, _ *tool.Call, in note) (string, error) {
				if in.Text == "slow" {
					<-ctx.Done()
				}
				return "", ctx.Err()
			}
		}))})
		b.Add("1", "Echo", []byte(`{}`))
		b.Add("2", "Echo", []byte(`{"text":"slow"}`))
		b.End()
		for range b.Outcomes() {
			break
		}
		cancel()
		if d := cmp.Diff([]string{"2 cancelled"}, outcomes(b)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

func TestACancelledToolMaySayWhatItLikes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		out := sched.New(allowAll()).Call(ctx, set(echo(func(d *tool.Def[note, string]) {
			d.Run = func(ctx context.Context, _ *tool.Call, _ note) (string, error) {
				<-ctx.Done()
				return "", errors.New("signal: killed")
			}
		})), "1", "Echo", []byte(`{}`))
		if out.Status != sched.Cancelled || out.Fatal != nil || !strings.Contains(out.Result.Text(), "The tool said: signal: killed") {
			t.Errorf("%s %q %v", out.Status, out.Result.Text(), out.Fatal)
		}
	})
}

func TestEverythingInAnOutcomeIsBounded(t *testing.T) {
	huge := strings.Repeat("x", 10<<20)
	problem := func(d *tool.Def[note, string]) {
		d.Validate = func(context.Context, *tool.Call, note) *tool.Problem { return &tool.Problem{Message: huge} }
	}
	crash := func(d *tool.Def[note, string]) { d.Marks = func(note) tool.Marks { panic(huge) } }
	talk := func(d *tool.Def[note, string]) {
		d.Render = func(string) tool.Result {
			return tool.Result{Messages: []tool.Message{{Content: tool.Text(huge).Content}}}
		}
	}
	for name, out := range map[string]*sched.Outcome{
		"a problem":       call(t, allowAll(), echo(problem), `{}`),
		"a crash":         call(t, allowAll(), echo(crash), `{}`),
		"messages":        call(t, allowAll(), echo(talk), `{}`),
		"an unknown name": sched.New(nil).Call(t.Context(), set(echo()), "1", huge, []byte(`{}`)),
		"a field's name":  call(t, allowAll(), echo(), `{"`+huge+`":1}`),
		"a denial":        call(t, &sched.Options{Askers: []sched.Asker{answer(tool.Verdict{Behavior: tool.Deny, Message: huge})}}, echo(), `{}`),
		"a note":          call(t, &sched.Options{Judge: verdict(tool.Allow), Hooks: hooks{after: func(tool.Result) (*tool.Result, []string) { return nil, []string{huge} }}}, echo(), `{}`),
	} {
		size := len(out.Result.Text())
		for _, n := range out.Notes {
			size += len(n)
		}
		for _, m := range out.Result.Messages {
			size += len(tool.JoinText(m.Content))
		}
		if size > 60_000 {
			t.Errorf("%s: %d characters", name, size)
		}
	}
}

// What an MCP server returns is data: of a very long result the model gets an excerpt, and the
// file that it can search.
func TestAHugeResultOfAServerCostsLittle(t *testing.T) {
	for source, most := range map[string]int{"mcp:tin": 2_000, "": tool.DefaultMaxResult} {
		tl := echo(func(d *tool.Def[note, string]) {
			d.Run = func(context.Context, *tool.Call, note) (string, error) { return strings.Repeat("x", 1_500_000), nil }
		})
		tl.Source = source
		opts := allowAll()
		opts.Output = output.NewStore(t.TempDir())
		out := call(t, opts, tl, `{}`)
		if n := len(out.Result.Text()); n > most || n < most/2 || out.Kept == nil || out.Kept.Bytes != 1_500_000 || !strings.Contains(out.Result.Text(), out.Kept.Path) {
			t.Errorf("from %q: %d characters, kept %+v", source, n, out.Kept)
		}
	}
}

func TestAResultAlwaysSaysSomething(t *testing.T) {
	for name, r := range map[string]tool.Result{
		"no content":      {},
		"an unknown kind": {Content: []tool.Block{{Type: "hologram"}}},
	} {
		repeats := sched.NewRepeats(sched.RepeatLimits{})
		b := sched.New(allowAll()).Start(t.Context(), &sched.BatchOptions{Repeats: repeats, Tools: set(echo(func(d *tool.Def[note, string]) {
			d.Render = func(string) tool.Result { return r }
		}))})
		b.Add("1", "Echo", []byte(`{}`))
		b.End()
		for out := range b.Outcomes() {
			if !strings.Contains(out.Result.Text(), "Echo returned") {
				t.Errorf("%s: %+v", name, out.Result.Content)
			}
		}
	}
}

func TestResultsThatFitAreNotCut(t *testing.T) {
	tl := echo(func(d *tool.Def[note, string]) {
		d.MaxResult = 200_000
		d.Marks = func(note) tool.Marks { return tool.Marks{ConcurrencySafe: true} }
		d.Run = func(context.Context, *tool.Call, note) (string, error) { return strings.Repeat("x", 9_000), nil }
	})
	b := sched.New(allowAll()).Start(t.Context(), &sched.BatchOptions{Tools: set(tl)})
	for i := range 40 {
		b.Add(fmt.Sprint(i), "Echo", []byte(`{}`))
	}
	b.End()
	for out := range b.Outcomes() {
		if out.Kept != nil {
			t.Errorf("call %s was cut although there was room", out.UseID)
		}
	}
}

func TestProgressAfterTheEndIsNotHeard(t *testing.T) {
	feed := sched.NewFeed()
	var late *tool.Call
	s := sched.New(&sched.Options{Judge: verdict(tool.Allow), Feeds: []*sched.Feed{feed}})
	s.Call(t.Context(), set(echo(func(d *tool.Def[note, string]) {
		d.Run = func(_ context.Context, c *tool.Call, _ note) (string, error) {
			late = c
			c.Report(nil)
			return "", nil
		}
	})), "1", "Echo", []byte(`{}`))
	late.Report(tool.TextProgress{Text: "too late"})
	feed.Close()
	for e := range feed.Events(t.Context()) {
		if e.State == 0 {
			t.Errorf("heard %+v", e)
		}
	}
}

// Askers, front ends and the tool may all want the decoded input at once.
func TestTheDecodedInputIsSharedSafely(t *testing.T) {
	tl := echo(func(d *tool.Def[note, string]) {
		d.Classify = func(in note) string { return in.Text }
		d.Summarize = func(in note) string { return in.Text }
	})
	look := sched.AskerFunc(func(_ context.Context, c tool.Case, _ tool.Verdict) (tool.Verdict, error) {
		c.Tool.Classify(c.Call)
		c.Tool.Summarize(c.Call)
		return tool.Verdict{Behavior: tool.Allow}, nil
	})
	for range 100 {
		call(t, &sched.Options{Askers: []sched.Asker{look, look, look}}, tl, `{"text":"x"}`)
	}
}

func TestSiblingsMayFailTogether(t *testing.T) {
	tl := echo(func(d *tool.Def[note, string]) {
		d.StopsSiblings = true
		d.Marks = func(in note) tool.Marks { return tool.Marks{ConcurrencySafe: in.Text == ""} }
		d.Run = func(context.Context, *tool.Call, note) (string, error) { return "", tool.Errorf("no") }
	})
	for range 100 {
		b := sched.New(&sched.Options{Judge: verdict(tool.Allow), SiblingErrors: sched.CancelSiblings}).Start(t.Context(), &sched.BatchOptions{Tools: set(tl)})
		b.Add("1", "Echo", []byte(`{}`))
		b.Add("2", "Echo", []byte(`{}`))
		b.Add("3", "Echo", []byte(`{"text":"alone"}`))
		b.End()
		if got := outcomes(b); got[2] != "3 cancelled" {
			t.Errorf("got %v", got)
		}
	}
}

// TestAFailingCallAbortsThoseThatRun: under the policy that says so, with a result that says why; what must not be
// interrupted finishes.
func TestAFailingCallAbortsThoseThatRun(t *testing.T) {
	synctest.Test(t, abortsThoseThatRun) // where they wait for ever, the test fails
}

func abortsThoseThatRun(t *testing.T) {
	both := make(chan struct{}, 2)
	parallel := func(in note) tool.Marks { return tool.Marks{ConcurrencySafe: true} }
	shell := echo(func(d *tool.Def[note, string]) {
		d.Name, d.StopsSiblings, d.Marks = "Bash", true, parallel
		d.Run = func(context.Context, *tool.Call, note) (string, error) {
			<-both
			<-both
			return "", tool.Errorf("exit code 2")
		}
	})
	waits := func(name string, on tool.Interrupt) tool.Tool {
		return echo(func(d *tool.Def[note, string]) {
			d.Name, d.OnInterrupt, d.Marks = name, on, parallel
			d.Run = func(ctx context.Context, _ *tool.Call, _ note) (string, error) {
				both <- struct{}{}
				if on == tool.InterruptBlock {
					return "finished", nil
				}
				<-ctx.Done()
				return "", ctx.Err()
			}
		})
	}
	b := sched.New(&sched.Options{Judge: verdict(tool.Allow), SiblingErrors: sched.CancelSiblings}).Start(t.Context(), &sched.BatchOptions{
		Tools: set(shell, waits("Wait", tool.InterruptCancel), waits("Finish", tool.InterruptBlock)),
	})
	b.Add("1", "Wait", []byte(`{}`))
	b.Add("2", "Bash", []byte(`{}`))
	b.Add("3", "Finish", []byte(`{}`))
	b.End()
	var got []string
	for out := range b.Outcomes() {
		got = append(got, out.Status.String()+": "+out.Result.Text())
	}
	want := []string{"cancelled: Cancelled while it ran: a parallel call of Bash failed.", "failed: exit code 2", "succeeded: finished"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestOptionsMayBeLeftOut(t *testing.T) {
	b := sched.New(nil).Start(t.Context(), nil)
	b.Add("1", "Echo", nil)
	b.End()
	if d := cmp.Diff([]string{"1 unknown"}, outcomes(b)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

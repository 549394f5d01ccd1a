//go:build unix

package haft_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft"
	"github.com/haftdev/haft/wire"
)

// leakless fails the test if goroutines of ours outlive it.
func leakless(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		deadline := time.Now().Add(2 * time.Second)
		for {
			stacks := make([]byte, 1<<20)
			stacks = stacks[:runtime.Stack(stacks, true)]
			left := ""
			for _, s := range strings.Split(string(stacks), "\n\n") {
				if strings.Contains(s, "haft.(*") || strings.Contains(s, "wire.(*") {
					left += s + "\n\n"
				}
			}
			if left == "" {
				return
			}
			if time.Now().After(deadline) {
				t.Errorf("goroutines are left:\n%s", left)
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
}

func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// tags collects what a loop yields.
func tags(t *testing.T, seq func(func(haft.Message, error) bool)) (list []string, last error) {
	t.Helper()
	for m, err := range seq {
		if err != nil {
			return list, err
		}
		list = append(list, m.Tag().String())
	}
	return list, nil
}

func TestQueryYieldsATurn(t *testing.T) {
	leakless(t)
	got, err := tags(t, haft.Query(t.Context(), "hi", stubbed(t, "echo")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"system/init", "assistant", "result/success"}, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestAskReturnsTheResult(t *testing.T) {
	leakless(t)
	r, err := haft.Ask(t.Context(), "hi", stubbed(t, "echo"))
	if err != nil || r.Result != "you said hi" {
		t.Errorf("Ask = %+v, %v", r, err)
	}
}

func TestALoopThatIsLeftEndsTheProcess(t *testing.T) {
	leakless(t)
	for _, how := range []string{"echo", "is slow", "will not end", "ends when asked"} {
		t.Run(how, func(t *testing.T) {
			begin := time.Now()
			for _, err := range haft.Query(t.Context(), "hi", stubbed(t, how)) {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestErrorsSayWhatHappened(t *testing.T) {
	leakless(t)
	tests := []struct {
		how    string
		result bool   // a result is yielded before
		want   string // in the error
	}{
		{"will not start", false, "exit status 1; it said: error: unknown option '--verbose'"},
		{"will not listen", false, "initialize: "},
		{"dies in a line", false, "exit status 3; it said: out of memory"},
		{"dies by a signal", false, "signal: killed"},
		{"ends too early", false, "the session ended before the turn finished"},
		{"fails", true, "the agent ended with an error: API Error: overloaded"},
	}
	for _, tt := range tests {
		t.Run(tt.how, func(t *testing.T) {
			opts := stubbed(t, tt.how)
			if tt.how == "will not listen" {
				opts.StartTimeout = 200 * time.Millisecond
			}
			list, err := tags(t, haft.Query(t.Context(), "hi", opts))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
			if got := len(list) > 0 && list[len(list)-1] == "result/success"; got != tt.result {
				t.Errorf("messages: %v", list)
			}
		})
	}
}

func TestErrorsAreTyped(t *testing.T) {
	leakless(t)
	_, err := haft.Ask(t.Context(), "hi", stubbed(t, "dies in a line"))
	exit := (*haft.ExitError)(nil)
	if !errors.As(err, &exit) || exit.Code != 3 {
		t.Errorf("%v is no ExitError with code 3", err)
	}
	r, err := haft.Ask(t.Context(), "hi", stubbed(t, "fails"))
	bad := (*haft.ResultError)(nil)
	if !errors.As(err, &bad) || bad.Result != r {
		t.Errorf("%v is no ResultError with the result", err)
	}
	for _, cli := range []string{"/nowhere/haft", "/nowhere/cli.js", "no-such-command-line"} {
		_, err = haft.Ask(t.Context(), "hi", &haft.Options{CLI: cli})
		if !errors.Is(err, haft.ErrNoCLI) || !strings.Contains(err.Error(), cli) {
			t.Errorf("the command line %s, which does not exist: %v", cli, err)
		}
	}
	t.Setenv("HAFT_CLI", "")
	t.Setenv("PATH", t.TempDir())
	if _, err = haft.Ask(t.Context(), "hi", nil); !errors.Is(err, haft.ErrNoCLI) {
		t.Errorf("no command line anywhere: %v", err)
	}
}

func TestGarbageIsSkippedAndNewTypesAreKept(t *testing.T) {
	leakless(t)
	got, err := tags(t, haft.Query(t.Context(), "hi", stubbed(t, "writes garbage")))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"system/init", "from_the_future", "assistant", "result/success"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestLongLinesPass(t *testing.T) {
	leakless(t)
	r, err := haft.Ask(t.Context(), "hi", stubbed(t, "writes much"))
	if err != nil || len(r.Result) != 1<<20 {
		t.Fatalf("%d bytes, %v", len(r.Result), err)
	}
}

func TestAChildOfTheCommandLineDoesNotHoldTheQuery(t *testing.T) {
	leakless(t)
	begin := time.Now()
	r, err := haft.Ask(t.Context(), "hi", stubbed(t, "leaves a child"))
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if err := json.Unmarshal([]byte(r.Result), &pid); err != nil {
		t.Fatal(err)
	}
	syscall.Kill(pid, syscall.SIGKILL)
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestTheContextEndsAQuery(t *testing.T) {
	leakless(t)
	for _, how := range []string{"is slow", "will not end", "will not answer"} {
		t.Run(how, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			begin := time.Now()
			_, err := haft.Ask(ctx, "hi", stubbed(t, how))
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v, want the deadline", err)
			}
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestACommandLineThatDoesNotAnswerIsGivenUp(t *testing.T) {
	leakless(t)
	opts := stubbed(t, "will not answer")
	opts.StartTimeout = 2 * time.Second // it must have come to say why
	_, err := haft.NewClient(t.Context(), opts)
	if err == nil || !strings.Contains(err.Error(), "did not answer in time; it said: waiting for a login") {
		t.Errorf("error %v", err)
	}
}

func TestClientTalksManyTurns(t *testing.T) {
	leakless(t)
	c, err := haft.NewClient(t.Context(), stubbed(t, "echo"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, prompt := range []string{"one", "two"} {
		last := ""
		for m, err := range c.Turn(prompt) {
			if err != nil {
				t.Fatal(err)
			}
			last = haft.TextOf(m)
		}
		if last != "you said "+prompt {
			t.Errorf("%s: %s", prompt, last)
		}
	}
	if err := c.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if rest, err := tags(t, c.Messages()); err != nil || len(rest) != 0 {
		t.Errorf("after the end: %v, %v", rest, err)
	}
	if pid := c.Info().PID; !gone(pid) {
		t.Errorf("process %d is still there", pid)
	}
}

func TestClientControlsTheSession(t *testing.T) {
	leakless(t)
	ctx := t.Context()
	c, err := haft.NewClient(ctx, stubbed(t, "answers late"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if queued, err := c.Interrupt(ctx); err != nil || !cmp.Equal(queued, []string{"u1"}) {
		t.Errorf("Interrupt = %v, %v", queued, err)
	}
	if model, err := c.SetModel(ctx, "haiku"); err != nil || model != "full-haiku" {
		t.Errorf("SetModel = %v, %v", model, err)
	}
	if err := c.SetMode(ctx, haft.Plan); err != nil {
		t.Error(err)
	}
	coded := (*wire.ControlError)(nil)
	if err := c.SetMode(ctx, "odd"); !errors.As(err, &coded) || coded.Code != wire.ErrorInvalidMode {
		t.Errorf("SetMode(odd) = %v", err)
	}
	if u, err := c.ContextUsage(ctx); err != nil || u.TotalTokens != 42 {
		t.Errorf("ContextUsage = %v, %v", u, err)
	}
	if r, err := c.Rewind(ctx, "u9"); err != nil || !slices.Equal(r.FilesChanged, []string{"u9"}) {
		t.Errorf("Rewind = %v, %v", r, err)
	}
	if err := c.SetMaxThinkingTokens(ctx, nil); err != nil {
		t.Error(err)
	}
	if err := c.StopTask(ctx, "b1"); !errors.As(err, &coded) || coded.Code != wire.ErrorUnsupported {
		t.Errorf("a request that the command line does not know: %v", err)
	}
	// An answer that comes after its caller has left disturbs nobody.
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := c.MCPStatus(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("MCPStatus in a hurry: %v", err)
	}
	if s, err := c.MCPStatus(ctx); err != nil || len(s) != 1 || s[0].Name != "calc" {
		t.Errorf("MCPStatus = %v, %v", s, err)
	}
}

func TestClosingEndsEverything(t *testing.T) {
	leakless(t)
	for _, how := range []string{"echo", "is slow", "will not end", "ends when asked"} {
		t.Run(how, func(t *testing.T) {
			c, err := haft.NewClient(t.Context(), stubbed(t, how))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Send("hi"); err != nil {
				t.Fatal(err)
			}
			var ended atomic.Bool
			reader := make(chan error, 1)
			go func() {
				_, err := tags(t, c.Messages())
				if !ended.Load() {
					err = errors.Join(err, errors.New("the loop ended before Close"))
				}
				reader <- err
			}()
			time.Sleep(50 * time.Millisecond) // the reader may or may not have begun; both must end
			ended.Store(true)
			if err := errors.Join(c.Close(), c.Close()); err != nil {
				t.Error(err)
			}
			if err := <-reader; err != nil {
				t.Errorf("the loop ended with %v", err)
			}
			if pid := c.Info().PID; !gone(pid) {
				t.Errorf("process %d is still there", pid)
			}
			if err := c.SetMode(t.Context(), haft.Plan); !errors.Is(err, wire.ErrClosed) {
				t.Errorf("a call afterwards: %v", err)
			}
			if _, err := c.Send("more"); err == nil {
				t.Error("a prompt can be sent afterwards")
			}
		})
	}
}

func TestTurnSaysWhenTheSessionEndsFirst(t *testing.T) {
	leakless(t)
	for how, want := range map[string]string{"ends too early": "before the turn finished", "dies by a signal": "signal: killed"} {
		c, err := haft.NewClient(t.Context(), stubbed(t, how))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tags(t, c.Turn("hi")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", how, err, want)
		}
		c.Close()
	}
}

func TestACommandLineThatStopsReadingHoldsNobody(t *testing.T) {
	leakless(t)
	c, err := haft.NewClient(t.Context(), stubbed(t, "stops reading"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Send("hi"); err != nil {
		t.Fatal(err)
	}
	blocked := make(chan error, 1)
	go func() {
		for {
			if _, err := c.Send(strings.Repeat("x", 1<<20)); err != nil {
				blocked <- err
				return
			}
		}
	}()
	time.Sleep(100 * time.Millisecond) // the pipe is full by then, or it is not: closing must free the sender either way
	c.Close()
	if err := <-blocked; err == nil {
		t.Error("the sender was not told")
	}
	if pid := c.Info().PID; !gone(pid) {
		t.Errorf("process %d is still there", pid)
	}
}

func TestACommandLineThatOnlyClosesItsOutputIsEnded(t *testing.T) {
	leakless(t)
	begin := time.Now()
	_, err := haft.Ask(t.Context(), "hi", stubbed(t, "closes its output"))
	if err == nil {
		t.Error("there was no result, and no error")
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestManyQuestionsAreAnsweredAtOnce(t *testing.T) {
	leakless(t)
	opts := stubbed(t, "asks a lot")
	all := make(chan struct{})
	var asked atomic.Int32
	opts.CanUseTool = func(context.Context, *haft.ToolRequest) (*haft.Permission, error) {
		if asked.Add(1) == 1000 {
			close(all)
		}
		<-all // nobody answers before all have asked
		return haft.Allow(), nil
	}
	r, err := haft.Ask(t.Context(), "hi", opts)
	if err != nil || r.Result != "1000" {
		t.Errorf("%v allowed, %v", r, err)
	}
}

func TestManyQueriesAtOnce(t *testing.T) {
	leakless(t)
	opts := stubbed(t, "echo")
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if r, err := haft.Ask(t.Context(), "hi", opts); err != nil || r.Result != "you said hi" {
				t.Errorf("%v, %v", r, err)
			}
		})
	}
	wg.Wait()
}

func TestTheInputStaysOpenWhileCallbacksMayBeWanted(t *testing.T) {
	leakless(t)
	opts := stubbed(t, "asks after its result")
	opts.CanUseTool = func(context.Context, *haft.ToolRequest) (*haft.Permission, error) { return haft.Allow(), nil }
	r, err := haft.Ask(t.Context(), "hi", opts)
	if err != nil || r.Result != "allow" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestQuestionsAreMessages(t *testing.T) {
	leakless(t)
	opts := stubbed(t, "asks a lot")
	opts.Questions = true
	asked := 0
	for m, err := range haft.Query(t.Context(), "hi", opts) {
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.(type) {
		case *haft.Question:
			asked++
			m.Answer(haft.Allow())
			m.Answer(haft.Deny("too late"))
			<-m.Done()
		case *haft.Result:
			if m.Result != "1000" {
				t.Errorf("%s were allowed", m.Result)
			}
		}
	}
	if asked != 1000 {
		t.Errorf("%d questions came", asked)
	}
}

func TestAQuestionIsWithdrawn(t *testing.T) {
	leakless(t)
	opts := stubbed(t, "asks and takes it back")
	opts.Questions = true
	for m, err := range haft.Query(t.Context(), "hi", opts) {
		if err != nil {
			t.Fatal(err)
		}
		if q, ok := m.(*haft.Question); ok {
			<-q.Done()
			q.Answer(haft.Allow())
		}
	}
}

func TestAClientSaysThatAndWhyItHasEnded(t *testing.T) {
	leakless(t)
	c, err := haft.NewClient(t.Context(), stubbed(t, "echo"))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.Done():
		t.Error("it has ended")
	default:
	}
	c.Close()
	<-c.Done()
	if err := c.Err(); err != nil {
		t.Errorf("closed: %v", err)
	}
	c, err = haft.NewClient(t.Context(), stubbed(t, "dies by a signal"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Send("hi"); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	if exit := (*haft.ExitError)(nil); !errors.As(c.Err(), &exit) {
		t.Errorf("died: %v", c.Err())
	}
}

// Of ten at once that may each cost as much, only as many start as the budget has for; what one
// does not spend, another may.
func TestABudgetIsShared(t *testing.T) {
	leakless(t)
	budget := haft.NewBudget(3.5)
	opts := stubbed(t, "costs a dollar")
	opts.Budget, opts.MaxBudgetUSD = budget, 1.5
	var wg sync.WaitGroup
	var ran, refused atomic.Int32
	for range 10 {
		wg.Go(func() {
			switch r, err := haft.Ask(t.Context(), "hi", opts); {
			case errors.Is(err, haft.ErrBudget):
				refused.Add(1)
			case err != nil:
				t.Error(err)
			case r.Result != "1.5" && r.Result != "0.5":
				t.Errorf("allowed to cost %s", r.Result)
			default:
				ran.Add(1)
			}
		})
	}
	wg.Wait()
	if budget.Spent() != 4 || ran.Load() != 4 || refused.Load() != 6 {
		t.Errorf("%d ran and %d did not; spent %g", ran.Load(), refused.Load(), budget.Spent())
	}
	opts.CLI, opts.Budget = "/nonexistent", haft.NewBudget(1)
	if _, err := haft.Ask(t.Context(), "hi", opts); err == nil || opts.Budget.Spent() != 0 {
		t.Errorf("what did not start has cost %g, %v", opts.Budget.Spent(), err)
	}
	opts = stubbed(t, "dies by a signal")
	opts.Budget = haft.NewBudget(1)
	if _, err := haft.Ask(t.Context(), "hi", opts); err == nil || opts.Budget.Spent() != 1 {
		t.Errorf("what died has cost %g, %v", opts.Budget.Spent(), err)
	}
}

package crew_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness/crew"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/internal/tools/sleep"
	"github.com/haftdev/haft/internal/tools/subagent"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/tool"
)

// A rig is a crew whose model says what its agents' prompts ask for.
type rig struct {
	*crew.Crew
	make   crew.MakeFunc
	server *script.Server

	mu     sync.Mutex
	events []agent.Event
	said   []string
	ended  chan agent.Task
}

func newRig(t *testing.T, change func(*crew.Options)) *rig {
	t.Helper()
	server, err := scripttest.Serve(t, &script.Options{Answer: answer, Keep: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	r := &rig{server: server, ended: make(chan agent.Task, 1000)}
	client := anthropic.New(&anthropic.Options{BaseURL: server.URL(), Key: "k"})
	set := tool.NewSet(nil, []tool.Tool{sleep.New()}, nil, nil)
	r.make = func(_ context.Context, s crew.Spec) (*crew.Made, error) {
		a, err := agent.New(&agent.Options{Model: client, ModelName: "claude-opus-5-5", Tools: set, Agent: s.ID, AgentType: s.Kind})
		return &crew.Made{Agent: a, Kind: s.Kind, Model: "claude-opus-5-5"}, err
	}
	opts := &crew.Options{
		Emit: func(ev agent.Event) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.events = append(r.events, ev)
		},
		Notify: func(k agent.Task) { r.ended <- k },
		Say: func(s string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.said = append(r.said, s)
		},
	}
	if change != nil {
		change(opts)
	}
	r.Crew = crew.New(opts)
	r.Begin(r.make)
	t.Cleanup(r.Close)
	return r
}

// answer does what the first prompt says: "work N" calls a tool N times, "hang"
// never answers, "mute" says nothing, "fail" fails.
func answer(r *script.Request) script.Turn {
	first := r.FirstText()
	var n int
	switch {
	case strings.Contains(r.LastText(), "Message from"):
		return script.Turn{Blocks: []script.Block{{Text: "heard: " + r.LastText()}}}
	case strings.HasPrefix(first, "hang"):
		return script.Turn{Blocks: []script.Block{{Text: "so far"}, {Text: "never"}}, Fault: script.Fault{Break: script.Hang, After: 4}}
	case strings.HasPrefix(first, "fail"):
		return script.Turn{Fault: script.Fault{Status: 400, Type: "invalid_request_error", Message: "no"}}
	case strings.HasPrefix(first, "mute"):
		return script.Turn{Blocks: []script.Block{{Text: ""}}}
	}
	if _, err := fmt.Sscanf(first, "work %d", &n); err == nil && r.Turn < n {
		return script.Turn{Blocks: []script.Block{{Text: "step"}, {Tool: "Sleep", Input: []byte(`{"duration_ms":1}`)}}}
	}
	return script.Turn{Blocks: []script.Block{{Text: "done: " + first}}}
}

func job(prompt string) subagent.Job {
	return subagent.Job{Prompt: prompt, Description: prompt, Kind: "general-purpose", UseID: "toolu_1"}
}

func TestAnAgentWorksAndReports(t *testing.T) {
	r := newRig(t, nil)
	var progress []tool.AgentProgress
	got := r.Run(t.Context(), job("work 2"), func(p tool.AgentProgress) { progress = append(progress, p) })
	if got.Status != subagent.Completed || got.Text != "done: work 2" || got.ToolUses != 2 || got.Tools["Sleep"] != 2 || got.Tokens == 0 {
		t.Errorf("%+v", got)
	}
	if len(progress) != 2 || progress[1].ToolUses != 2 {
		t.Errorf("progress %+v", progress)
	}
}

func TestHowWorkEnds(t *testing.T) {
	for prompt, want := range map[string]subagent.Status{
		"work 1": subagent.Completed, "fail": subagent.Failed, "hang": subagent.Stalled, "mute": subagent.Empty,
	} {
		t.Run(prompt, func(t *testing.T) {
			r := newRig(t, func(o *crew.Options) {
				if prompt == "hang" { // only then: machines are busy
					o.Idle = time.Second
				}
			})
			got := r.Run(t.Context(), job(prompt), nil)
			if got.Status != want {
				t.Errorf("%+v", got)
			}
			if prompt == "hang" && !strings.Contains(got.Text, "so far") {
				t.Errorf("what it had said is lost: %+v", got)
			}
			if want != subagent.Completed && want != subagent.Empty && got.Why == "" {
				t.Errorf("it does not say why: %+v", got)
			}
		})
	}
}

// The watchdog of the one that hangs is shown above: here it would bite others on
// a busy machine.
func TestFiftyAtOnceAndOneThatHangs(t *testing.T) {
	r := newRig(t, nil)
	hung, err := r.Start(t.Context(), job("hang"))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	reports := make([]subagent.Report, 50)
	for i := range reports {
		wg.Go(func() { reports[i] = r.Run(t.Context(), job("work 3"), nil) })
	}
	wg.Wait()
	for i, got := range reports {
		if got.Status != subagent.Completed || got.ToolUses != 3 {
			t.Errorf("agent %d: %+v", i, got)
		}
	}
	if !r.Stop(hung.ID) {
		t.Error("the one that hangs is gone")
	}
	if k := <-r.ended; k.ID != hung.ID || k.Status != "stopped" {
		t.Errorf("%+v", k)
	}
}

func TestStopOneAndNobodyElse(t *testing.T) {
	r := newRig(t, nil)
	hung, err := r.Start(t.Context(), job("hang"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Start(t.Context(), job("work 2")); err != nil {
		t.Fatal(err)
	}
	if k := <-r.ended; k.Status != "completed" {
		t.Errorf("%+v", k)
	}
	if !r.Stop(hung.ID) {
		t.Error("it is not there")
	}
	if k := <-r.ended; k.ID != hung.ID || k.Status != "stopped" {
		t.Errorf("%+v", k)
	}
	if r.Stop("nobody") {
		t.Error("nobody was stopped")
	}
}

func TestTheEndOfTheCallStopsTheAgent(t *testing.T) {
	r := newRig(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if got := r.Run(ctx, job("hang"), nil); got.Status != subagent.Cancelled {
		t.Errorf("%+v", got)
	}
}

func TestLimitsOfACrew(t *testing.T) {
	r := newRig(t, func(o *crew.Options) { o.MaxRunning, o.MaxDepth = 2, 1 })
	one, err := r.Start(t.Context(), job("hang"))
	if err != nil {
		t.Fatal(err)
	}
	deeper := job("work 1")
	deeper.Caller = one.ID
	if got := r.Run(t.Context(), deeper, nil); got.Status != subagent.Failed || !strings.Contains(got.Why, "nested at most 1 deep") {
		t.Errorf("%+v", got)
	}
	if _, err := r.Start(t.Context(), job("hang")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Start(t.Context(), job("hang")); err == nil || !strings.Contains(err.Error(), "agent limit reached (2 running)") {
		t.Errorf("error %v", err)
	}
}

func TestTokensOfAnAgent(t *testing.T) {
	r := newRig(t, func(o *crew.Options) { o.MaxTokens = 1 })
	if got := r.Run(t.Context(), job("work 5"), nil); got.Status != subagent.Budget || got.Text == "" || got.ToolUses != 1 {
		t.Errorf("%+v", got)
	}
	if got := r.Run(t.Context(), job("work 0"), nil); got.Status != subagent.Completed || got.Tokens == 0 {
		t.Errorf("an agent that was done with its first answer: %+v", got)
	}
}

func TestTheTokensOfAnAgentAreThoseOfAllItsAnswers(t *testing.T) {
	r := newRig(t, nil)
	for range 20 { // what is counted must not depend on who is faster
		var told []int
		got := r.Run(t.Context(), job("work 1"), func(p tool.AgentProgress) { told = append(told, p.Tokens) })
		if len(told) != 1 || told[0] == 0 || int64(told[0]) >= got.Tokens {
			t.Fatalf("told %v on the way, and %d in the end", told, got.Tokens)
		}
	}
}

func TestAMessageWakesAnAgent(t *testing.T) {
	r := newRig(t, nil)
	done := r.Run(t.Context(), job("work 1"), nil)
	sent, err := r.Send(t.Context(), subagent.Message{To: done.ID, Text: "and now?"})
	if err != nil || !sent.Woken {
		t.Fatalf("%+v %v", sent, err)
	}
	if k := <-r.ended; !strings.Contains(k.Summary, "heard: ") || !strings.Contains(k.Summary, "and now?") {
		t.Errorf("%+v", k)
	}
	if _, err := r.Send(t.Context(), subagent.Message{To: "nobody", Text: "?"}); err == nil || !strings.Contains(err.Error(), done.ID) {
		t.Errorf("error %v", err)
	}
	if _, err := r.Send(t.Context(), subagent.Message{From: done.ID, To: "main", Text: "hello"}); err != nil || len(r.said) != 1 {
		t.Errorf("said %q, error %v", r.said, err)
	}
}

func TestTeams(t *testing.T) {
	r := newRig(t, nil)
	member := job("hang")
	member.Team, member.Name = "porting", "ada"
	if _, err := r.Start(t.Context(), member); err == nil || !strings.Contains(err.Error(), "TeamCreate") {
		t.Errorf("error %v", err)
	}
	if _, err := r.NewTeam(t.Context(), "porting", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Start(t.Context(), member); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Start(t.Context(), member); err == nil {
		t.Error("two members have one name")
	}
	if sent, err := r.Send(t.Context(), subagent.Message{To: "ada", Text: "hi"}); err != nil || sent.Woken {
		t.Errorf("%+v %v", sent, err)
	}
	stopped, err := r.EndTeam(t.Context(), "porting")
	if err != nil || len(stopped) != 1 || stopped[0] != "ada" {
		t.Errorf("stopped %q, error %v", stopped, err)
	}
	if k := <-r.ended; k.Status != "stopped" {
		t.Errorf("%+v", k)
	}
}

// TestMemoryOfAnAgent holds what an idle agent costs.
func TestMemoryOfAnAgent(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures")
	}
	const n = 50
	r := newRig(t, func(o *crew.Options) { o.Keep = n })
	r.Run(t.Context(), job("work 3"), nil) // what is made once
	before := heap()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { r.Run(t.Context(), job("work 3"), nil) })
	}
	wg.Wait()
	each := (heap() - before) / n
	t.Logf("%d bytes each", each)
	if each > 500<<10 {
		t.Errorf("an agent keeps %d bytes, want at most 500 KB", each)
	}
	runtime.KeepAlive(r)
}

// TestMemoryOfAnAgentAtWork holds what an agent costs in the middle of an answer,
// the server's side of it included.
func TestMemoryOfAnAgentAtWork(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures")
	}
	const n = 50
	r := newRig(t, nil)
	start := func(n int) {
		before := r.server.Total()
		for range n {
			if _, err := r.Start(t.Context(), job("hang")); err != nil {
				t.Fatal(err)
			}
		}
		for r.server.Total() < before+n {
			time.Sleep(time.Millisecond)
		}
	}
	start(1) // what is made once
	before := heap()
	start(n)
	each := (heap() - before) / n
	t.Logf("%d bytes each", each)
	if each > 500<<10 {
		t.Errorf("an agent at work takes %d bytes, want at most 500 KB", each)
	}
}

// heap is the memory that is in use, stacks included.
func heap() int64 {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

func TestLostAgentsAreNamed(t *testing.T) {
	text := crew.LostText([]crew.Known{{ID: "a1", Kind: "Explore", Description: "find it", Running: true}, {ID: "a2", Status: subagent.Completed}})
	if !strings.Contains(text, "a1 (Explore): find it") || strings.Contains(text, "a2") {
		t.Errorf("%q", text)
	}
	if text := crew.LostText(nil); text != "" {
		t.Errorf("%q", text)
	}
}

func TestAMessageIsNeverLeftUnheard(t *testing.T) {
	r := newRig(t, nil)
	// Messages come at any moment of an agent's end.
	for i := range 20 {
		s, err := r.Start(t.Context(), job("work 0"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i) * 500 * time.Microsecond)
		word := fmt.Sprintf("word %d", i)
		if _, err := r.Send(t.Context(), subagent.Message{To: s.ID, Text: word}); err != nil {
			t.Fatal(err)
		}
		for heard := false; !heard; {
			select {
			case k := <-r.ended:
				heard = k.ID == s.ID && strings.Contains(k.Summary, word)
			case <-time.After(20 * time.Second):
				t.Fatalf("message %d was not heard", i)
			}
		}
	}
}

func TestAgentsThatAreNotKeptAreMadeAgain(t *testing.T) {
	var made []crew.Spec
	var mu sync.Mutex
	r := newRig(t, func(o *crew.Options) {
		o.Keep = 1
	})
	r.Begin(func(ctx context.Context, s crew.Spec) (*crew.Made, error) {
		mu.Lock()
		defer mu.Unlock()
		made = append(made, s)
		m, err := r.make(ctx, s)
		m.Output = "transcript"
		return m, err
	})
	first := r.Run(t.Context(), job("work 1"), nil)
	r.Run(t.Context(), job("work 1"), nil)
	if list := r.List(); len(list) != 2 {
		t.Fatalf("known are %+v", list)
	}
	sent, err := r.Send(t.Context(), subagent.Message{To: first.ID, Text: "still there?"})
	if err != nil || !sent.Woken {
		t.Fatalf("%+v %v", sent, err)
	}
	<-r.ended
	mu.Lock()
	defer mu.Unlock()
	if last := made[len(made)-1]; len(made) != 3 || last.ID != first.ID || !last.Again {
		t.Errorf("made %+v", made)
	}
}

func TestWhoWasLostCanGoOn(t *testing.T) {
	var saved [][]crew.Known
	var mu sync.Mutex
	r := newRig(t, func(o *crew.Options) {
		o.Save = func(k []crew.Known) {
			mu.Lock()
			defer mu.Unlock()
			saved = append(saved, k)
		}
	})
	r.Remember([]crew.Known{{ID: "a1", Kind: "Explore", Name: "ada", Team: "port", Running: true}, {ID: "a2", Kind: "Explore", Status: subagent.Completed}})
	states := map[string]string{}
	for _, k := range r.List() {
		states[k.ID] = k.State()
	}
	if states["a1"] != "lost" || states["a2"] != "completed" {
		t.Errorf("states %v", states)
	}
	if sent, err := r.Send(t.Context(), subagent.Message{To: "ada", Text: "go on"}); err != nil || !sent.Woken {
		t.Fatalf("%+v %v", sent, err)
	}
	if k := <-r.ended; k.ID != "a1" || k.Status != "completed" {
		t.Errorf("%+v", k)
	}
	mu.Lock()
	defer mu.Unlock()
	if last := saved[len(saved)-1]; len(last) != 2 || last[0].State() != "completed" {
		t.Errorf("saved %+v", last)
	}
}

// TestTheEndOfACrewIsNoEndOfItsWork closes a crew at work: what is kept says so.
func TestTheEndOfACrewIsNoEndOfItsWork(t *testing.T) {
	saved := make(chan []crew.Known, 100)
	r := newRig(t, func(o *crew.Options) { o.Save = func(k []crew.Known) { saved <- k } })
	if _, err := r.Start(t.Context(), job("hang")); err != nil {
		t.Fatal(err)
	}
	r.Close()
	close(saved)
	var last []crew.Known
	for k := range saved {
		last = k
	}
	if len(last) != 1 || !last[0].Running || !strings.Contains(crew.LostText(last), "hang") {
		t.Errorf("saved %+v", last)
	}
}

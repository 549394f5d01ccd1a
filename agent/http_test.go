package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/models/provider/retry"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/openai"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A provider returns a client of the server at an address, which waits so long
// when nothing comes; 0 means as long as it usually does.
type provider func(url string, patience time.Duration) model.Model

var providers = map[string]provider{
	"messages": func(url string, patience time.Duration) model.Model {
		return anthropic.New(&anthropic.Options{BaseURL: url, Key: "none", Idle: patience, FirstByte: patience})
	},
	"chat completions": func(url string, patience time.Duration) model.Model {
		return openai.New(&openai.Options{BaseURL: url + "/v1", Key: "none", Idle: patience, FirstByte: patience})
	},
}

// serve starts a scripted model and returns a client of it.
func serve(t testing.TB, o *script.Options) (*script.Server, model.Model) {
	t.Helper()
	return serveBy(t, o, providers["messages"], 0)
}

func serveBy(t testing.TB, o *script.Options, p provider, patience time.Duration) (*script.Server, model.Model) {
	t.Helper()
	srv, err := scripttest.Serve(t, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	return srv, retry.New(p(srv.URL(), patience), &retry.Options{Max: 3, Delay: time.Millisecond})
}

// counter is a tool that counts how often it ran with each input.
func counter(ran *sync.Map) tool.Tool {
	return tool.New(tool.Def[echoInput, string]{
		Name: "Count", Description: "Counts.",
		Run: func(_ context.Context, _ *tool.Call, in echoInput) (string, error) {
			n, _ := ran.LoadOrStore(in.Say, new(atomic.Int32))
			n.(*atomic.Int32).Add(1)
			return "counted", nil
		},
	})
}

// Whatever happens to the stream of an answer, the turn continues or ends with one
// honest result, and no call runs twice.
func TestFaultsOfTheServer(t *testing.T) {
	answer := []script.Block{
		{Thinking: "Let me count."}, {Text: "I will count twice."},
		{Tool: "Count", Input: json.RawMessage(`{"say":"one"}`)}, {Tool: "Count", Input: json.RawMessage(`{"say":"two"}`)},
	}
	faults := map[string]script.Fault{
		"a slow drip":          {Drip: 1},
		"bad request":          {Status: 400, Message: "messages.1.content.0: bad block", Times: -1},
		"wrong key":            {Status: 401, Message: "invalid x-api-key", Times: -1},
		"wrong content type":   {Body: "<html>proxy</html>", ContentType: "text/html", Times: -1},
		"dead for ever":        {Status: 529, Message: "overloaded", Times: -1},
		"cut for ever":         {Break: script.Cut, After: 3, Times: -1},
		"too long for ever":    {Status: 400, Message: "prompt is too long: 250000 tokens > 200000 maximum", Times: -1},
		"hangs at once":        {Break: script.Hang},
		"hangs before it ends": {Break: script.Hang, After: 4},
		"hangs after a call":   {Break: script.Hang, After: 12},
		"429 with retry-after": {Status: 429, RetryAfter: "0.1"},
		"a burst of 529":       {Status: 529, Times: 3},
	}
	for n := range 18 { // more than the answer has
		for _, b := range []script.Break{script.Cut, script.End, script.Garbage, script.Failure} {
			faults[fmt.Sprintf("%s after %d events", b, n)] = script.Fault{Break: b, After: n, Type: "overloaded_error", Message: "busy"}
		}
	}
	for api, p := range providers {
		t.Run(api, func(t *testing.T) {
			var wg sync.WaitGroup
			for name, fault := range faults {
				wg.Go(func() { faulty(t, p, name, fault, answer) })
			}
			wg.Wait()
		})
	}
}

func faulty(t *testing.T, p provider, name string, fault script.Fault, answer []script.Block) {
	var patience time.Duration
	if fault.Break == script.Hang { // only then: machines are busy
		patience = 3 * time.Second
	}
	_, m := serveBy(t, &script.Options{Scenario: &script.Scenario{Turns: []script.Turn{
		{Blocks: answer, Fault: fault}, {Blocks: []script.Block{{Text: "Counted."}}},
	}}}, p, patience)
	var ran sync.Map
	a, err := agent.New(&agent.Options{
		Model: m, ModelName: "claude-opus-5-5", Tools: tool.NewSet(nil, []tool.Tool{counter(&ran)}, nil, nil), Sched: sched.Options{Judge: allow},
	})
	if err != nil {
		t.Error(err)
		return
	}
	a.Send(userSays("count"))
	var results []agent.Result
	for ev, err := range a.Run(t.Context()) {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if r, ok := ev.(agent.Result); ok {
			results = append(results, r)
		}
	}
	if len(results) != 1 {
		t.Errorf("%s: %d results", name, len(results))
		return
	}
	res := results[0]
	if fault.Times >= 0 && (res.Reason != agent.Completed || !strings.Contains(res.Text, "ounted") && res.Text != "Done.") {
		t.Errorf("%s: %s %q %v", name, res.Reason, res.Text, res.Errors)
	}
	if fault.Times < 0 && (!res.Reason.IsError() || res.Text == "") {
		t.Errorf("%s: %s %q", name, res.Reason, res.Text)
	}
	ran.Range(func(input, n any) bool {
		if n := n.(*atomic.Int32).Load(); n > 1 {
			t.Errorf("%s: the call with %s ran %d times", name, input, n)
		}
		return true
	})
	if problem := invalid(decoded(t, a.History())); problem != "" {
		t.Errorf("%s: what is left cannot be sent: %s", name, problem)
	}
}

// A request has four cache marks at most, however many a user sends.
func TestMarksOfAPersonAreTakenOff(t *testing.T) {
	srv, m := serve(t, &script.Options{})
	a := start(t, &agent.Options{Model: m, ModelName: "claude-opus-5-5", System: []model.System{{Text: "Be kind.", Cache: true}, {Text: "Be brief.", Cache: true}}})
	const marked = `{"type":"text","text":"<%d>","cache_control":{"type":"ephemeral"}}`
	for i := range 6 {
		var b model.Block
		if err := json.Unmarshal(fmt.Appendf(nil, marked, i), &b); err != nil {
			t.Fatal(err)
		}
		a.Send(agent.Prompt{Content: []model.Block{b, b}})
		for _, err := range a.Run(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	requests := srv.Requests()
	last := string(requests[len(requests)-1].Body)
	if n := strings.Count(last, `"cache_control"`); n != 4 || !strings.Contains(last, `{"text":"<0>","type":"text"}`) && !strings.Contains(last, `{"type":"text","text":"<0>"}`) {
		t.Errorf("%d marks in:\n%s", n, last)
	}
}

// A journal that was written by the loop restores the conversation that was sent.
func TestResume(t *testing.T) {
	store := session.Open(t.TempDir())
	srv, m := serve(t, &script.Options{Answer: func(r *script.Request) script.Turn {
		if strings.Contains(r.LastText(), "about to be replaced by a summary") {
			return script.Turn{Blocks: []script.Block{{Text: "<summary>They spoke.</summary>"}}}
		}
		if r.Turn%2 == 0 {
			return script.Turn{Blocks: []script.Block{{Thinking: "hm"}, {Text: "Looking."},
				{Tool: "Echo", ID: fmt.Sprint("a", r.Turn), Input: json.RawMessage(`{"say":"x"}`)}, {Tool: "Echo", ID: fmt.Sprint("b", r.Turn), Input: json.RawMessage(`{"say":"y"}`)}}}
		}
		return script.Turn{Blocks: []script.Block{{Text: "Done with it."}}}
	}})
	s, err := store.Create(t.Context(), &session.CreateOptions{Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	options := func(s *session.Session) *agent.Options {
		return &agent.Options{
			Model: m, ModelName: "claude-opus-5-5", Tools: tool.NewSet(nil, []tool.Tool{echo()}, nil, nil), Sched: sched.Options{Judge: allow},
			Journal: s, History: s.Restored().History,
		}
	}
	a := start(t, options(s))
	run(t, a, "one")
	a.Compact("")
	run(t, a, "two", "three")
	before := encoded(a.History())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err = store.Resume(t.Context(), s.ID(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a = start(t, options(s))
	if after := encoded(a.History()); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	inOrder(t, before, "This summary replaces it", "two", "three")
	res := result(t, run(t, a, "four"))
	if res.Reason != agent.Completed || srv.Total() != 7 {
		t.Errorf("%s after %d requests", res.Reason, srv.Total())
	}
}

// What the loop has written, cut anywhere, is a conversation that continues.
func TestResumeFromAnyCut(t *testing.T) {
	dir, cwd := t.TempDir(), t.TempDir()
	store := session.Open(dir)
	s, err := store.Create(t.Context(), &session.CreateOptions{Cwd: cwd})
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{t: t, answers: []reply{
		says(thinks("Hm."), text("Let me see."), say("a", "one"), say("b", "two")), says(text("More."), say("c", "three"), use("d", "Echo", `{"say": tru`)),
		says(text("So far.")), {err: &model.Error{Kind: model.Overloaded, Message: "busy"}}, says(thinks("Ah."), say("e", "four")), says(text("The end.")),
	}}
	o := world(f)
	o.Journal = s
	a := start(t, o)
	for _, p := range []string{"first", "second", "third"} {
		run(t, a, p)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	step := 1 + len(whole)/100
	for n := 0; n <= len(whole); n += step {
		if err := os.WriteFile(s.Path(), whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := store.Resume(t.Context(), s.ID(), nil)
		if err != nil {
			if n > bytes.IndexByte(whole, '\n') {
				t.Errorf("cut at byte %d: %v", n, err)
			}
			continue
		}
		f := &fake{t: t}
		o := world(f)
		o.Journal, o.History, o.Source = s, s.Restored().History, "resume"
		a := start(t, o)
		if res := result(t, run(t, a, "go on")); res.Reason != agent.Completed {
			t.Errorf("cut at byte %d: %s %v", n, res.Reason, res.Errors)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// An interrupt in the middle of a real stream is answered at once.
func TestInterruptOverHTTP(t *testing.T) {
	_, m := serve(t, &script.Options{Answer: func(*script.Request) script.Turn {
		return script.Turn{Blocks: []script.Block{{Text: strings.Repeat("on and on ", 20_000)}}, Delta: 5}
	}})
	o := world(nil)
	o.Model, o.ModelName = m, "claude-opus-5-5"
	a := start(t, o)
	a.Send(userSays("talk"))
	var at time.Time
	var evs []agent.Event
	for ev := range a.Run(t.Context()) {
		evs = append(evs, ev)
		if s, ok := ev.(agent.Streamed); ok && at.IsZero() {
			if _, ok := s.Event.(model.Delta); ok {
				at = time.Now()
				a.Interrupt("")
			}
		}
	}
	took := time.Since(at)
	res := result(t, evs)
	said := of[agent.Said](evs)
	if res.Reason != agent.AbortedStreaming || len(said) != 1 || !said[0].Aborted {
		t.Errorf("%s, %+v", res.Reason, said)
	}
	t.Logf("answered after %s", took)
	if took > 10*time.Second { // 50 ms on a machine that has nothing else to do; the answer takes 25 s
		t.Errorf("it took %s", took)
	}
}

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/test/strictapi"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

func say(id, what string) model.Block { return use(id, "Echo", fmt.Sprintf(`{"say":%q}`, what)) }

// How a turn ends, by what the model and the tools do.
func TestEndings(t *testing.T) {
	broke := &model.Error{Kind: model.Overloaded, Status: 529, Message: "overloaded"}
	for name, c := range map[string]struct {
		answers  []reply
		tools    []tool.Tool
		change   func(*agent.Options)
		want     agent.Reason
		text     string
		requests int
		heard    string // part of the last request
	}{
		"a plain answer": {
			answers: []reply{says(text("Hello."))}, want: agent.Completed, text: "Hello.", requests: 1,
		},
		"a model that is dead": {
			answers: []reply{{err: broke}}, want: agent.APIError, text: "API error: overloaded (status 529)", requests: 1,
		},
		"an answer without content is asked for once more": {
			answers: []reply{says(), says(text("Sorry."))}, want: agent.Completed, text: "Sorry.", requests: 2, heard: "Your answer was empty",
		},
		"only thoughts are no answer": {
			answers: []reply{says(thinks("Hm.")), says(thinks("Hm."))}, want: agent.Completed, requests: 2,
		},
		"a long answer goes on": {
			answers: []reply{says(text("One, ")).stop(model.MaxTokens), says(text("two."))}, want: agent.Completed, text: "two.", requests: 2, heard: "cut off at the output limit",
		},
		"an answer that never ends": {
			answers: []reply{says(text("1")).stop(model.MaxTokens), says(text("2")).stop(model.MaxTokens), says(text("3")).stop(model.MaxTokens), says(text("4")).stop(model.MaxTokens)},
			want:    agent.OutputExhausted, text: "4", requests: 4,
		},
		"a paused answer is continued": {
			answers: []reply{says(text("Searching.")).stop(model.PauseTurn), says(text("Found."))}, want: agent.Completed, text: "Found.", requests: 2,
		},
		"a refusal": {
			answers: []reply{says().stop(model.Refusal)}, want: agent.Refused, text: "The model declined to answer.", requests: 1,
		},
		"a tool that cannot do its work": {
			answers: []reply{says(use("a", "Bad", `{}`))},
			tools:   []tool.Tool{raw("Bad", func(context.Context, *tool.Call) (tool.Result, error) { return tool.Result{}, errors.New("disk gone") })},
			want:    agent.ToolFailure, requests: 1,
		},
		"a tool that crashes is for the model": {
			answers: []reply{says(use("a", "Bad", `{}`)), says(text("It crashed."))},
			tools:   []tool.Tool{raw("Bad", func(context.Context, *tool.Call) (tool.Result, error) { panic("oops") })},
			want:    agent.Completed, text: "It crashed.", requests: 2, heard: "Bad crashed: oops",
		},
		"too many turns": {
			answers: []reply{says(say("a", "1")), says(say("b", "2")), says(say("c", "3"))},
			change:  func(o *agent.Options) { o.Limits.Turns = 2 }, want: agent.MaxTurns, requests: 2,
		},
		"too much money": {
			answers: []reply{says(say("a", "1")), says(say("b", "2")), says(say("c", "3"))},
			change: func(o *agent.Options) {
				o.Limits.BudgetUSD = 1
				o.Cost = func(string, model.Usage) (float64, bool) { return 0.6, true }
			},
			want: agent.BudgetExhausted, requests: 2,
		},
		"going in circles": {
			answers: []reply{says(say("a", "1")), says(say("b", "1")), says(say("c", "1")), says(say("d", "1")), says(say("e", "1")), says(say("f", "1")), says(say("g", "1")), says(say("h", "1")), says(say("i", "1"))},
			want:    agent.StoppedLoop, requests: 8, heard: "3 times, and nothing has changed",
		},
		"a denial that ends the turn": {
			answers: []reply{says(say("a", "1"))},
			change: func(o *agent.Options) {
				o.Sched.Judge = sched.JudgeFunc(func(context.Context, tool.Case) tool.Verdict {
					return tool.Verdict{Behavior: tool.Deny, Message: "no", Interrupt: true}
				})
			},
			want: agent.AbortedTools, requests: 1,
		},
		"input that is no JSON is shown to the model": {
			answers: []reply{says(use("a", "Echo", `{"say": tru`)), says(text("My mistake."))}, want: agent.Completed, text: "My mistake.", requests: 2, heard: "__unparsedToolInput",
		},
		"an input that is empty is an empty object": {
			answers: []reply{says(use("a", "Empty", ``)), says(text("Fine."))},
			tools:   []tool.Tool{raw("Empty", func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text("ran"), nil })},
			want:    agent.Completed, text: "Fine.", requests: 2, heard: `"content":"ran"`,
		},
		"a refused image is taken out": {
			answers: []reply{says(use("a", "Photo", `{}`)), {err: &model.Error{Kind: model.InvalidRequest, Status: 400, Message: "could not process image"}}, says(text("No picture."))},
			tools: []tool.Tool{raw("Photo", func(context.Context, *tool.Call) (tool.Result, error) {
				return tool.Result{Content: []tool.Block{{Type: tool.ImageBlock, MediaType: "image/png", Data: []byte("\x89PNG\r\n\x1a\nx")}}}, nil
			})},
			want: agent.Completed, text: "No picture.", requests: 3, heard: "could not process image",
		},
		"thoughts that another provider does not take": {
			answers: []reply{says(thinks("Hm."), say("a", "1")), {err: &model.Error{Kind: model.InvalidRequest, Status: 400, Message: "invalid signature in thinking block"}}, says(text("Fine."))},
			want:    agent.Completed, text: "Fine.", requests: 3, heard: `[{"type":"tool_use","id":"a"`,
		},
		"a bad request": {
			answers: []reply{{err: &model.Error{Kind: model.InvalidRequest, Status: 400, Message: "bad block"}}}, want: agent.APIError, text: "API error: bad block (status 400)", requests: 1,
		},
		"what a result brings along": {
			answers: []reply{says(use("a", "Skill", `{}`)), says(text("Learned."))},
			tools: []tool.Tool{raw("Skill", func(context.Context, *tool.Call) (tool.Result, error) {
				r := tool.Text("loaded")
				r.Messages = []tool.Message{{Content: tool.Text("Do it like this.").Content}}
				return r, nil
			})},
			want: agent.Completed, text: "Learned.", requests: 2, heard: "Do it like this.",
		},
		"a fault of ours": {
			answers: []reply{says(text("never"))},
			change: func(o *agent.Options) {
				o.Facts = func(context.Context, bool) []string { panic("facts") }
			},
			want: agent.Crashed, requests: 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{t: t, answers: c.answers}
				o := world(f, c.tools...)
				if c.change != nil {
					c.change(o)
				}
				a := start(t, o)
				res := result(t, run(t, a, "go"))
				if res.Reason != c.want || res.Text != c.text || len(f.requests) != c.requests {
					t.Errorf("%s %q after %d requests %v\nwant %s %q after %d", res.Reason, res.Text, len(f.requests), res.Errors, c.want, c.text, c.requests)
				}
				if n := len(f.requests); n > 0 && !strings.Contains(f.requests[n-1].raw, c.heard) {
					t.Errorf("the last request does not say %q:\n%s", c.heard, f.requests[n-1].raw)
				}
				if res.Reason.IsError() && len(res.Errors) == 0 {
					t.Error("an error that does not say what it is")
				}
				if res.Reason != agent.Crashed && res.Reason != agent.BudgetExhausted { // those stay as they are
					sendable(t, a, f)
				}
			})
		})
	}
}

func TestTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, answers: []reply{says(use("a", "Wait", `{}`))}}
		o := world(f, raw("Wait", func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}))
		o.Limits.Time = time.Minute
		a := start(t, o)
		began := time.Now()
		res := result(t, run(t, a, "go"))
		if res.Reason != agent.TimeExhausted || time.Since(began) != time.Minute {
			t.Errorf("%s after %s", res.Reason, time.Since(began))
		}
		sendable(t, a, f)
	})
}

// In virtual time an answer begins at once, as it does on a fast machine: no time at
// all is a time, and that of the first answer.
func TestTheFirstAnswerBeginsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, answers: []reply{says(use("a", "Nap", `{}`)), says(text("done"))}}
		a := start(t, world(f, raw("Nap", func(context.Context, *tool.Call) (tool.Result, error) {
			time.Sleep(time.Second)
			return tool.Text("slept"), nil
		})))
		if res := result(t, run(t, a, "go")); res.TTFT == nil || *res.TTFT != 0 {
			t.Errorf("the first answer took %v", res.TTFT)
		}
		b := start(t, world(&fake{t: t, answers: []reply{{err: &model.Error{Kind: model.Unauthorized}}}}))
		if res := result(t, run(t, b, "go")); res.TTFT != nil {
			t.Errorf("an answer that never came began after %v", *res.TTFT)
		}
	})
}

// A model that is not told what was repaired makes the same mistake again.
func TestTheModelReadsWhatWasRepaired(t *testing.T) {
	f := &fake{t: t, answers: []reply{says(use("a", "Count", `{"to":"5"}`)), says(text("done"))}}
	type input struct {
		To int `json:"to" jsonschema:"How far."`
	}
	a := start(t, world(f, tool.New(tool.Def[input, string]{
		Name: "Count", Description: "Counts.",
		Run: func(_ context.Context, _ *tool.Call, in input) (string, error) {
			return fmt.Sprint("counted to ", in.To), nil
		},
	})))
	result(t, run(t, a, "go"))
	inOrder(t, f.requests[1].raw, "counted to 5", "The input of your Count call was repaired: ")
}

// What is said after a command that waits is heard after it.
func TestPromptsWaitForTheCommandBeforeThem(t *testing.T) {
	f := &fake{t: t, answers: []reply{says(use("a", "Talk", `{}`)), says(text("2")), says(text("3"))}}
	var a *agent.Agent
	a = start(t, world(f, raw("Talk", func(context.Context, *tool.Call) (tool.Result, error) {
		a.Send(userSays("joins"))
		command := userSays("/fork")
		command.Answer = func(context.Context) (string, error) { return "forked", nil }
		a.Send(command)
		a.Send(userSays("after it"))
		return tool.Text("ok"), nil
	})))
	var got []string
	for _, r := range of[agent.Result](run(t, a, "go")) {
		got = append(got, r.Text)
	}
	if diff := cmp.Diff([]string{"2", "forked", "3"}, got); diff != "" {
		t.Fatalf("results (-want +got):\n%s", diff)
	}
	if raw := f.requests[1].raw; !strings.Contains(raw, "joins") || strings.Contains(raw, "after it") {
		t.Errorf("the model reads %s", raw)
	}
	inOrder(t, f.requests[2].raw, "/fork", "forked", "after it")
}

// Prompts that come while a turn runs.
func TestPriorities(t *testing.T) {
	for name, c := range map[string]struct {
		prompt agent.Prompt
		want   []string // of each result: its reason and text
		last   string   // the end of the request after the boundary
	}{
		"the next boundary":   {agent.Prompt{}, []string{"completed 2"}, "The user sent a new message while you were working:|hurry"},
		"a cut":               {agent.Prompt{Priority: agent.Now}, []string{"superseded ", "completed 2"}, "hurry"},
		"the end of the turn": {agent.Prompt{Priority: agent.Later}, []string{"completed 2", "completed 3"}, ""},
		"said in passing":     {agent.Prompt{Silent: true}, []string{"completed 2"}, "hurry"},
		"a task that ended":   {agent.Prompt{Origin: agent.TaskNotification}, []string{"completed 2"}, "hurry"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{t: t, answers: []reply{says(use("a", "Talk", `{}`)), says(text("2")), says(text("3"))}}
			var a *agent.Agent
			a = start(t, world(f, raw("Talk", func(context.Context, *tool.Call) (tool.Result, error) {
				c.prompt.Content = []model.Block{text("hurry")}
				a.Send(c.prompt)
				return tool.Text("ok"), nil
			})))
			var got []string
			for _, r := range of[agent.Result](run(t, a, "go")) {
				got = append(got, string(r.Reason)+" "+r.Text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			var end []string
			messages := f.requests[1].messages
			for _, b := range messages[len(messages)-1].Content[1:] {
				end = append(end, b.Text)
			}
			if got := strings.Join(end, "|"); got != c.last {
				t.Errorf("the model reads %q, want %q", got, c.last)
			}
		})
	}
}

func TestSilentPromptWaitsForTheNextOne(t *testing.T) {
	f := &fake{t: t}
	a := start(t, world(f))
	p := userSays("for later")
	p.Silent = true
	a.Send(p)
	res := result(t, run(t, a))
	if res.Requests != 0 || res.Reason != agent.Completed || len(f.requests) != 0 {
		t.Errorf("%+v", res)
	}
	run(t, a, "now")
	if got := len(f.requests[0].messages[0].Content); got != 2 {
		t.Errorf("the prompt has %d blocks, want both", got)
	}
}

// Run waits for tasks in the background, and their end has a turn of its own.
func TestNotify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, answers: []reply{says(text("Started.")), says(text("It ended."))}}
		a := start(t, world(f))
		task := agent.Task{ID: "t1", Type: "local_bash", Status: "running", Background: true}
		a.Emit(agent.TaskChanged{Task: task, Change: "started"})
		time.AfterFunc(time.Hour, func() {
			task.Status, task.Summary = "completed", "exit code 0"
			a.Notify(task)
		})
		results := of[agent.Result](run(t, a, "go"))
		if len(results) != 2 || results[1].Origin != agent.TaskNotification || results[1].Text != "It ended." {
			t.Errorf("%+v", results)
		}
		if !strings.Contains(f.requests[1].raw, "<task-id>t1</task-id>") {
			t.Errorf("the model reads %s", f.requests[1].raw)
		}
	})
}

// What a result has told is not told again, whether the news waits already or is still to come. Front ends hear it.
func TestHeard(t *testing.T) {
	for name, order := range map[string][]string{"the result is first": {"heard", "notify"}, "the news is first": {"notify", "heard"}} {
		t.Run(name, func(t *testing.T) {
			f := &fake{t: t, answers: []reply{says(text("Ended."))}}
			a := start(t, world(f))
			for _, what := range order {
				if what == "heard" {
					a.Heard("t1")
				} else {
					a.Notify(agent.Task{ID: "t1", Type: "local_bash", Status: "completed", Background: true})
				}
			}
			events := run(t, a, "go")
			if len(f.requests) != 1 || strings.Contains(f.requests[0].raw, "task-notification") {
				t.Errorf("%d requests: %s", len(f.requests), f.requests[0].raw)
			}
			if n := len(of[agent.TaskChanged](events)); n != 1 {
				t.Errorf("front ends hear of it %d times", n)
			}
		})
	}
}

func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, world(&fake{t: t}))
		release := a.Hold()
		time.AfterFunc(time.Minute, func() { a.Send(userSays("hello")) })
		time.AfterFunc(time.Hour, release)
		began := time.Now()
		result(t, run(t, a))
		if time.Since(began) != time.Hour {
			t.Errorf("Run ended after %s", time.Since(began))
		}
	})
}

// Who does not await a task leaves it behind, and still takes the turn that another
// one's end begins: whenever in between it is asked.
func TestRunAwaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, world(&fake{t: t}))
		server := agent.Task{ID: "s", Type: "local_bash", Status: "running", Background: true}
		helper := agent.Task{ID: "h", Type: "local_agent", Status: "running", Background: true}
		a.Emit(agent.TaskChanged{Task: server, Change: "started"})
		a.Emit(agent.TaskChanged{Task: helper, Change: "started"})
		time.AfterFunc(time.Minute, func() {
			helper.Status, helper.Ended = "completed", time.Now()
			a.Notify(helper)
		})
		began, results := time.Now(), 0
		a.Send(userSays("hello"))
		for ev, err := range a.RunAwaiting(t.Context(), func(k agent.Task) bool { return k.Type == "local_agent" }) {
			if err != nil {
				t.Fatal(err)
			}
			if r, ok := ev.(agent.Result); ok {
				results++
				if r.Reason != agent.Completed {
					t.Errorf("turn %d: %s", results, r.Reason)
				}
			}
		}
		if results != 2 || time.Since(began) != time.Minute {
			t.Errorf("%d turns, over after %s", results, time.Since(began))
		}
	})
}

func TestOneRunAtATime(t *testing.T) {
	a := start(t, world(&fake{t: t}))
	a.Send(userSays("go"))
	for range a.Run(t.Context()) {
		for ev, err := range a.Run(t.Context()) {
			if ev != nil || err == nil {
				t.Errorf("a second Run: %v, %v", ev, err)
			}
		}
	}
}

// hooks answers events by a function.
type hooks func(hook.Detail) hook.Outcome

func (h hooks) Fire(_ context.Context, _ string, d hook.Detail) hook.Outcome { return h(d) }

func TestHooks(t *testing.T) {
	block := hook.Outcome{Behavior: tool.Deny, Reason: "not so fast"}
	t.Run("a prompt that is blocked is not sent", func(t *testing.T) {
		f := &fake{t: t}
		o := world(f)
		o.Hooks = hooks(func(d hook.Detail) hook.Outcome {
			if p, ok := d.(hook.UserPromptSubmit); ok && p.Prompt == "bad" {
				return block
			}
			return hook.Outcome{}
		})
		a := start(t, o)
		res := result(t, run(t, a, "bad"))
		if res.Reason != agent.StoppedByHook || !strings.Contains(res.Text, "not so fast") || len(f.requests) != 0 {
			t.Errorf("%+v", res)
		}
		if run(t, a, "good"); strings.Contains(f.requests[0].raw, "bad") {
			t.Errorf("the blocked prompt was sent: %s", f.requests[0].raw)
		}
	})
	t.Run("notes stand beside the prompt", func(t *testing.T) {
		f := &fake{t: t}
		o := world(f)
		o.Hooks = hooks(func(d hook.Detail) hook.Outcome {
			return hook.Outcome{Notes: []string{string(d.Event()) + " note"}}
		})
		run(t, start(t, o), "hello")
		var got []string
		for _, b := range f.requests[0].messages[0].Content {
			got = append(got, b.Text)
		}
		want := []string{"<system-reminder>\nSessionStart note\n</system-reminder>", "hello", "<system-reminder>\nUserPromptSubmit note\n</system-reminder>"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("a turn that must not end goes on", func(t *testing.T) {
		f := &fake{t: t, answers: []reply{says(text("1")), says(text("2"))}}
		o := world(f)
		var active []bool
		o.Hooks = hooks(func(d hook.Detail) hook.Outcome {
			if s, ok := d.(hook.Stop); ok {
				active = append(active, s.StopHookActive)
				if !s.StopHookActive {
					return block
				}
			}
			return hook.Outcome{}
		})
		res := result(t, run(t, start(t, o), "go"))
		if res.Text != "2" || !cmp.Equal(active, []bool{false, true}) || !strings.Contains(f.requests[1].raw, "not so fast") {
			t.Errorf("%q, stop_hook_active %v", res.Text, active)
		}
	})
	t.Run("a hook that never lets go is overruled", func(t *testing.T) {
		f := &fake{t: t, answers: []reply{says(text("The answer is 42.")), says(text("Done.")), says(text("Done."))}}
		o := world(f)
		o.Hooks = hooks(func(d hook.Detail) hook.Outcome {
			if _, ok := d.(hook.Stop); ok {
				return block
			}
			return hook.Outcome{}
		})
		res := result(t, run(t, start(t, o), "go"))
		if res.Reason != agent.Completed || len(f.requests) != 11 {
			t.Errorf("%s after %d requests", res.Reason, len(f.requests))
		}
		if !strings.HasPrefix(res.Text, "The answer is 42.\n\nDone.") || strings.Count(res.Text, "Done.") != 1 {
			t.Errorf("the answer that the hook did not accept is lost, or others repeat: %q", res.Text)
		}
	})
}

// permissions keeps what it is told.
type permissions struct {
	mode    string
	allowed map[string]bool
	seen    []string
}

func (p *permissions) SetMode(m string) error { p.mode = m; return nil }

func (p *permissions) Allow(rules []string) (func(), error) {
	for _, r := range rules {
		p.allowed[r] = true
	}
	return func() {
		for _, r := range rules {
			delete(p.allowed, r)
		}
	}, nil
}

func TestChanges(t *testing.T) {
	hidden := raw("Hidden", func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text("found"), nil })
	hidden.Deferred = true
	search := raw(tool.SearchName, func(context.Context, *tool.Call) (tool.Result, error) {
		r := tool.Text("There is Hidden.")
		r.Change = &tool.Change{Reveal: []string{"Hidden"}, Model: "fake-2", Mode: "plan", Allow: []string{"Echo"}}
		return r, nil
	})
	p := &permissions{allowed: map[string]bool{}}
	look := raw("Look", func(context.Context, *tool.Call) (tool.Result, error) {
		p.seen = append(p.seen, fmt.Sprint(p.allowed["Echo"]))
		return tool.Text("ok"), nil
	})
	f := &fake{t: t, answers: []reply{says(use("a", tool.SearchName, `{}`)), says(use("b", "Hidden", `{}`), use("c", "Look", `{}`))}}
	o := world(f, hidden, search, look)
	o.Permissions = p
	a := start(t, o)
	evs := run(t, a, "go")
	result(t, evs)
	before, after := string(f.requests[0].Tools), string(f.requests[1].Tools)
	if before != after { // the provider has cached them
		t.Errorf("tools before:\n%s\nafter:\n%s", before, after)
	}
	if !strings.Contains(f.requests[0].raw, "not described to you yet") {
		t.Error("the model was not told of the deferred tool")
	}
	if f.requests[1].Model != "fake-2" || p.mode != "plan" {
		t.Errorf("model %s, mode %s", f.requests[1].Model, p.mode)
	}
	if p.allowed["Echo"] || !cmp.Equal(p.seen, []string{"true"}) {
		t.Errorf("allowed during the turn %v, after it %v", p.seen, p.allowed)
	}
	var told []any
	for _, c := range of[agent.Changed](evs) {
		told = append(told, c.Value)
	}
	if diff := cmp.Diff([]any{"fake-2", "plan", "fake-1"}, told); diff != "" {
		t.Errorf("changes that were told, the model's of before at the end of the turn:\n%s", diff)
	}
}

// Providers take objects without alternatives, under plain names. What a caller asks for
// beyond that is wrapped or renamed for the model, and checked all the same.
func TestStructuredFormsThatProvidersDoNotTake(t *testing.T) {
	answer := func(id, in string) reply { return says(use(id, "StructuredOutput", in)) }
	for name, c := range map[string]struct {
		schema  string
		answers []reply
		want    string
	}{
		"a list is wrapped": {`{"type":"array","items":{"type":"integer"}}`, []reply{answer("a", `{"answer":[1,2]}`)}, `[1,2]`},
		"alternatives at the top are checked": {`{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}]}`,
			[]reply{answer("a", `{}`), answer("b", `{"b":"x"}`)}, `{"b":"x"}`},
		"a reference at the top": {`{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}}}`, []reply{answer("a", `{}`), answer("b", `{"a":1}`)}, `{"a":1}`},
		"odd names go back":      {`{"type":"object","properties":{"total [€]":{"type":"number"}},"required":["total [€]"]}`, []reply{answer("a", `{"total":3}`)}, `{"total [€]":3}`},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{t: t, answers: c.answers}
			o := world(f)
			o.Structured = []byte(c.schema)
			res := result(t, run(t, start(t, o), "go"))
			if res.Reason != agent.Completed || string(res.Structured) != c.want || len(f.requests) != len(c.answers) {
				t.Errorf("%s %s after %d requests, want %s after %d", res.Reason, res.Structured, len(f.requests), c.want, len(c.answers))
			}
			body := fmt.Appendf(nil, `{"model":"claude-opus-5-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"tools":%s}`, f.requests[0].Tools)
			for _, v := range strictapi.Check(http.Header{"X-Api-Key": {"k"}, "Anthropic-Version": {"2023-06-01"}}, body) {
				t.Error(v)
			}
		})
	}
}

func TestStructured(t *testing.T) {
	schema := []byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)
	answer := func(id, in string) reply { return says(use(id, "StructuredOutput", in)) }
	for name, c := range map[string]struct {
		answers  []reply
		reason   agent.Reason
		want     string
		requests int
	}{
		"the first valid answer ends the turn": {[]reply{answer("a", `{"n":1}`)}, agent.Completed, `{"n":1}`, 1},
		"a wrong one is explained":             {[]reply{answer("a", `{"n":"x"}`), answer("b", `{"n":2}`)}, agent.Completed, `{"n":2}`, 2},
		"a plain answer is reminded of it":     {[]reply{says(text("Two.")), answer("b", `{"n":2}`)}, agent.Completed, `{"n":2}`, 2},
		"and then accepted":                    {[]reply{says(text("Two.")), says(text("Two!"))}, agent.Completed, ``, 2},
		"five wrong ones are enough": {[]reply{answer("a", `{}`), answer("b", `{"m":1}`), answer("c", `{"n":[]}`), answer("d", `{"n":{}}`), answer("e", `{"n":"y"}`)},
			agent.StructuredRetries, ``, 5},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{t: t, answers: c.answers}
			o := world(f)
			o.Structured = schema
			a := start(t, o)
			res := result(t, run(t, a, "go"))
			if res.Reason != c.reason || string(res.Structured) != c.want || len(f.requests) != c.requests {
				t.Errorf("%s %s after %d requests", res.Reason, res.Structured, len(f.requests))
			}
			sendable(t, a, f)
		})
	}
}

// What a user sends is made sendable, or it would be refused for ever after.
func TestUnreadablePrompts(t *testing.T) {
	f := &fake{t: t}
	a := start(t, world(f))
	a.Send(agent.Prompt{})
	a.Send(agent.Prompt{Content: []model.Block{text(" "), {Type: "image", Raw: []byte(`{"type":`)}, text("look")}})
	for _, r := range of[agent.Result](run(t, a)) {
		if r.Reason != agent.Completed {
			t.Errorf("%s %v", r.Reason, r.Errors)
		}
	}
	inOrder(t, f.requests[1].raw, "(empty message)", "could not be read", "look")
}

func TestBudgetThatCannotBeKept(t *testing.T) {
	f := &fake{t: t, answers: []reply{says(say("a", "1")), says(say("b", "2"))}}
	o := world(f)
	o.Limits.BudgetUSD = 1
	if n := of[agent.Notice](run(t, start(t, o), "go")); len(n) != 1 || n[0].Tag != "budget" {
		t.Errorf("%+v", n)
	}
}

// A question to the user is an event; a call that nobody can be asked about is a denial.
func TestWaitingAndDenied(t *testing.T) {
	ask := sched.JudgeFunc(func(context.Context, tool.Case) tool.Verdict { return tool.Verdict{Behavior: tool.Ask} })
	for name, person := range map[string]sched.Asker{
		"nobody is there": nil,
		"somebody refuses": sched.AskerFunc(func(context.Context, tool.Case, tool.Verdict) (tool.Verdict, error) {
			return tool.Verdict{Behavior: tool.Deny}, nil
		}),
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{t: t, answers: []reply{says(say("a", "x"))}}
			o := world(f)
			o.Sched.Judge, o.Person = ask, person
			evs := run(t, start(t, o), "go")
			waited, denied := len(of[agent.Waiting](evs)), len(of[agent.Denied](evs))
			if asked := person != nil; (waited == 1) != asked || (denied == 1) == asked {
				t.Errorf("%d waits, %d denials", waited, denied)
			}
			if res := result(t, evs); len(res.Denials) != 1 {
				t.Errorf("%d denials in the result", len(res.Denials))
			}
		})
	}
}

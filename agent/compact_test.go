package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/guard/output"
	"github.com/haftdev/haft/internal/harness/sysprompt/prompt"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// big is an answer after which the context is said to be full.
func big(r reply, tokens int64) reply {
	last := r.events[len(r.events)-1].(model.Stop)
	last.Usage = model.Usage{Input: tokens, Output: 5}
	r.events = append(append([]model.Event(nil), r.events[:len(r.events)-1]...), last)
	return r
}

func summary(s string) reply { return says(text("<summary>\n" + s + "\n</summary>")) }

func TestCompaction(t *testing.T) {
	tooLong := reply{err: &model.Error{Kind: model.PromptTooLong, Status: 400, Message: "prompt is too long"}}
	for name, c := range map[string]struct {
		answers  []reply
		change   func(*agent.Options)
		prompts  []string
		want     agent.Reason // of the last turn
		requests int
		sent     []string // parts of the last request, in order
		gone     string
	}{
		"at a threshold, before a prompt": {
			answers: []reply{big(says(text("first answer")), 900), summary("They spoke."), says(text("go on"))},
			prompts: []string{"first prompt", "second prompt"}, want: agent.Completed, requests: 3,
			sent: []string{"the plan", "They spoke.", "second prompt"}, gone: "first answer",
		},
		"at a threshold, between calls and their results": {
			answers: []reply{says(text("first answer")), big(says(say("a", "payload")), 900), summary("They spoke."), says(text("go on"))},
			prompts: []string{"first prompt", "second prompt"}, want: agent.Completed, requests: 4,
			sent: []string{"the plan", "They spoke.", `"tool_use"`, `"tool_result"`, "payload"}, gone: "first answer",
		},
		"a summary that fails is survived": {
			answers: []reply{big(says(text("first answer")), 900), {err: &model.Error{Kind: model.Overloaded, Message: "busy"}}, says(text("go on"))},
			prompts: []string{"first prompt", "second prompt"}, want: agent.Completed, requests: 3,
			sent: []string{"first prompt", "first answer", "second prompt"},
		},
		"a summary that is empty is survived": {
			answers: []reply{big(says(text("first answer")), 900), says(), says(), says(text("go on"))},
			prompts: []string{"first prompt", "second prompt"}, want: agent.Completed, requests: 4,
			sent: []string{"first prompt", "first answer", "second prompt"},
		},
		"a call in place of a summary is not run": {
			answers: []reply{big(says(text("first answer")), 900), says(text("Let me look."), say("a", "x")), summary("They spoke."), says(text("go on"))},
			prompts: []string{"first prompt", "second prompt"}, want: agent.Completed, requests: 4,
			sent: []string{"They spoke.", "second prompt"}, gone: "Let me look.",
		},
		"a refusal is no summary": {
			answers: []reply{big(says(text("first answer")), 900), says(text("I cannot help with that.")).stop(model.Refusal), says(text("go on"))},
			prompts: []string{"first prompt", "second prompt"}, want: agent.Completed, requests: 3,
			sent: []string{"first prompt", "first answer", "second prompt"}, gone: "cannot help",
		},
		"a prompt that is too long": {
			answers: []reply{says(text("first answer")), tooLong, summary("They spoke."), says(text("go on"))},
			prompts: []string{"first prompt", "second prompt"}, want: agent.Completed, requests: 4,
			sent: []string{"They spoke.", "second prompt"}, gone: "first answer",
		},
		"a prompt that stays too long": {
			answers: []reply{says(text("first answer")), tooLong, summary("They spoke."), tooLong},
			prompts: []string{"first prompt", "second prompt"}, want: agent.PromptTooLong, requests: 4,
		},
		"a conversation that is too long even for its summary": {
			answers: []reply{says(text("one")), says(text("two")), says(text("three")), tooLong, tooLong, summary("They spoke."), says(text("go on"))},
			prompts: []string{"1", "2", "3", "last"}, want: agent.Completed, requests: 7, sent: []string{"They spoke.", "last"}, gone: "three",
		},
		"an answer that fills the context": {
			answers: []reply{says(text("first answer")), says(text("half an ans")).stop(model.ContextExceeded), summary("They spoke."), says(text("go on"))},
			prompts: []string{"first prompt", "second prompt"}, want: agent.Completed, requests: 4, sent: []string{"They spoke.", "context was full"}, gone: "first answer",
		},
		"tools that the model knows by name only are named again": {
			answers: []reply{big(says(text("first answer")), 900), summary("They spoke."), says(text("go on"))},
			change:  func(o *agent.Options) { o.Tools = newToolbox(true).set() },
			prompts: []string{"first prompt", "second prompt"}, want: agent.Completed, requests: 3,
			sent: []string{"Sleep", "Walk", "They spoke.", "second prompt"}, gone: "first answer",
		},
		"a hook that is against it": {
			answers: []reply{big(says(text("first answer")), 900), says(text("go on"))},
			change: func(o *agent.Options) {
				o.Hooks = hooks(func(d hook.Detail) hook.Outcome {
					if _, ok := d.(hook.PreCompact); ok {
						return hook.Outcome{Behavior: tool.Deny, Reason: "no"}
					}
					return hook.Outcome{}
				})
			},
			prompts: []string{"first prompt", "second prompt"}, want: agent.Completed, requests: 2, sent: []string{"first answer"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{t: t, answers: c.answers}
			o := world(f)
			o.Context.Window = func(string) int64 { return 1000 }
			o.System = []model.System{{Text: "x"}}
			o.Carry = func() []string { return []string{"the plan"} }
			j := newJournal()
			o.Journal = j
			if c.change != nil {
				c.change(o)
			}
			a := start(t, o)
			var evs []agent.Event
			for _, p := range c.prompts {
				evs = run(t, a, p)
			}
			if res := result(t, evs); res.Reason != c.want || len(f.requests) != c.requests {
				t.Errorf("%s after %d requests %v, want %s after %d", res.Reason, len(f.requests), res.Errors, c.want, c.requests)
			}
			inOrder(t, f.requests[len(f.requests)-1].raw, c.sent...)
			if last := f.requests[len(f.requests)-1].raw; c.gone != "" && strings.Contains(last, c.gone) {
				t.Errorf("%q is still there:\n%s", c.gone, last)
			}
			sendable(t, a, f)
		})
	}
}

func inOrder(t *testing.T, s string, parts ...string) {
	t.Helper()
	rest := s
	for _, p := range parts {
		_, after, ok := strings.Cut(rest, p)
		if !ok {
			t.Errorf("%q is not there, or not in its place:\n%s", p, s)
		}
		rest = after
	}
}

// The request for a summary begins with what the provider has cached, and lets the
// model call nothing.
func TestSummaryRequest(t *testing.T) {
	f := &fake{t: t, answers: []reply{says(say("a", "x")), says(text("done")), summary("They spoke.")}}
	a := start(t, world(f))
	run(t, a, "go")
	a.Compact("Mind the tests.")
	evs := run(t, a)
	if res := result(t, evs); res.Command != "compact" || res.Reason != agent.Completed {
		t.Errorf("%+v", res)
	}
	if done := of[agent.Compacted](evs); len(done) != 1 || done[0].Err != nil || done[0].Trigger != "manual" {
		t.Errorf("%+v", done)
	}
	asked := f.requests[2]
	if !asked.TextOnly || string(asked.Tools) != string(f.requests[1].Tools) || !strings.HasPrefix(asked.raw, f.requests[1].raw) {
		t.Errorf("the request for the summary does not begin like the one before:\n%s", asked.raw)
	}
	inOrder(t, asked.raw, "<summary>", "Mind the tests.")
	run(t, a, "next")
	inOrder(t, f.requests[3].raw, "They spoke.", "next")
}

func TestClear(t *testing.T) {
	f := &fake{t: t}
	o := world(f)
	next := newJournal()
	o.Renew = func(context.Context) (agent.Journal, error) { return next, nil }
	a := start(t, o)
	run(t, a, "first")
	a.Clear()
	evs := run(t, a)
	if c := of[agent.Changed](evs); len(c) != 1 || c[0].What != agent.Cleared || c[0].Value != next.ID() {
		t.Errorf("%+v", c)
	}
	run(t, a, "second")
	if strings.Contains(f.requests[1].raw, "first") || len(next.entries) == 0 {
		t.Errorf("still there: %s; %d entries in the new journal", f.requests[1].raw, len(next.entries))
	}
}

// Every request begins with the bytes of the one before, whatever happens to the
// clock, the directory and the set of tools.
func TestPrefixStays(t *testing.T) {
	var answers []reply
	for i := range 50 {
		answers = append(answers, says(say(fmt.Sprint("u", i), fmt.Sprint(i))), says(thinks("so"), text(fmt.Sprint("turn ", i))))
	}
	f := &fake{t: t, answers: answers}
	now := time.Date(2026, 11, 15, 20, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	cwd := dir
	facts := prompt.NewFacts(&prompt.FactsOptions{Dir: dir, Now: func() time.Time { return now }, Cwd: func() string { return cwd }})
	o := world(f)
	o.System = prompt.System(&prompt.Options{Tools: o.Tools})
	o.Facts = facts.Tell
	a := start(t, o)
	for i := range 50 {
		now = now.Add(5 * time.Hour)
		cwd = fmt.Sprint(dir, "/", i/7)
		if i == 20 {
			if err := a.SetTools(a.Tools().Append(raw("Late", func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text(""), nil }))); err != nil {
				t.Fatal(err)
			}
		}
		run(t, a, fmt.Sprint("prompt ", i))
	}
	for i := 1; i < len(f.requests); i++ {
		before, after := f.requests[i-1], f.requests[i]
		// In the order in which a provider caches: a change of the tools loses all of it.
		if string(after.Tools) != string(before.Tools) || !slices.Equal(after.System, before.System) || !strings.HasPrefix(after.raw, before.raw) {
			t.Fatalf("request %d does not begin like the one before", i)
		}
	}
}

// The results of one answer take about half of the model's window, whichever it is.
func TestResultsTakeAShareOfTheWindow(t *testing.T) {
	sent := func(window int64) int {
		long := strings.Repeat("long ", 1_200)
		var blocks []model.Block
		for i := range 5 {
			blocks = append(blocks, use(fmt.Sprint("u", i), "Echo", `{"say":"`+fmt.Sprint(i)+long+`"}`))
		}
		f := &fake{t: t, answers: []reply{says(blocks...), says(text("done"))}}
		o := world(f)
		o.Sched.Output = output.NewStore(t.TempDir())
		o.Context.Window = func(string) int64 { return window }
		o.Context.CompactAt = -1
		run(t, start(t, o), "go")
		n := 0
		for _, m := range f.requests[1].messages {
			for _, b := range m.Content {
				if b.Type == model.ToolResult {
					n += len(b.Content[0].Text)
				}
			}
		}
		return n
	}
	if n := sent(200_000); n < 30_000 {
		t.Errorf("with a large window, %d characters are sent", n)
	}
	if n := sent(8_000); n < 8_000 || n > 20_000 {
		t.Errorf("with 8,000 tokens, %d characters are sent", n)
	}
}

package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A fake is a model in this process. Each request is checked to be one that an API
// takes, and answered by the next of the answers.
type fake struct {
	t       testing.TB
	answers []reply

	mu       sync.Mutex
	requests []request
}

// A request is what was asked, as it was at the time.
type request struct {
	*model.Request
	messages []model.Message
	raw      string // the messages as they were sent
}

// A reply is what a fake answers: events, and an error if the last of them is not
// a Stop. Wait, if not nil, is waited for before the event with its index.
type reply struct {
	events []model.Event
	err    error
	before func(ctx context.Context, i int)
}

func (f *fake) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		r := f.take(req)
		for i, ev := range r.events {
			if r.before != nil {
				r.before(ctx, i)
			}
			if ctx.Err() != nil {
				yield(nil, &model.Error{Kind: model.ConnectionLost, Message: "cancelled", Err: ctx.Err()})
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
		if r.err != nil {
			yield(nil, r.err)
		}
	}
}

func (f *fake) take(req *model.Request) reply {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := request{Request: req, raw: encoded(req.Messages)}
	seen.messages = decoded(f.t, req.Messages)
	f.requests = append(f.requests, seen)
	if problem := invalid(seen.messages); problem != "" {
		f.t.Errorf("request %d cannot be sent: %s\n%s", len(f.requests), problem, seen.raw)
	}
	if n := len(f.requests); n <= len(f.answers) {
		return f.answers[n-1]
	}
	return says(text("Done."))
}

func encoded(h *model.History) string {
	var b strings.Builder
	for i := range h.Len() {
		b.Write(h.JSON(i))
		b.WriteByte('\n')
	}
	return b.String()
}

func decoded(t testing.TB, h *model.History) []model.Message {
	var ms []model.Message
	for i := range h.Len() {
		m, err := h.Message(i)
		if err != nil {
			t.Fatal(err)
		}
		ms = append(ms, m)
	}
	return ms
}

// invalid says what an API would not take about a conversation; "" if nothing.
func invalid(ms []model.Message) string {
	var open []string
	for i, m := range ms {
		switch {
		case len(m.Content) == 0:
			return fmt.Sprintf("message %d is empty", i)
		case i == 0 && m.Role != model.User:
			return "the first message is not the user's"
		case i > 0 && ms[i-1].Role == m.Role:
			return fmt.Sprintf("messages %d and %d have the same role", i-1, i)
		}
		if problem := invalidMessage(m, &open); problem != "" {
			return fmt.Sprintf("message %d: %s", i, problem)
		}
	}
	if len(ms) == 0 {
		return "there is no message"
	}
	if len(open) > 0 {
		return fmt.Sprintf("calls without a result: %v", open)
	}
	return ""
}

func invalidMessage(m model.Message, open *[]string) string {
	if m.Role == model.User {
		for i, b := range m.Content {
			if b.Type == model.ToolResult {
				if i > 0 && m.Content[i-1].Type != model.ToolResult {
					return "a result comes after something else"
				}
				at := slices.Index(*open, b.UseID)
				if at < 0 {
					return "a result without its call: " + b.UseID
				}
				*open = slices.Delete(*open, at, at+1)
			}
		}
		if len(*open) > 0 {
			return fmt.Sprintf("calls without a result: %v", *open)
		}
	}
	for _, b := range m.Content {
		switch b.Type {
		case model.Text:
			if strings.TrimSpace(b.Text) == "" {
				return "blank text"
			}
		case model.ToolUse:
			if m.Role != model.Assistant || slices.Contains(*open, b.ID) {
				return "a call that must not be here: " + b.ID
			}
			*open = append(*open, b.ID)
			var o map[string]any
			if json.Unmarshal(b.Input, &o) != nil {
				return "an input that is no object: " + string(b.Input)
			}
		}
	}
	if last := m.Content[len(m.Content)-1].Type; m.Role == model.Assistant && last == model.Thinking {
		return "it ends with a thought"
	}
	return ""
}

// says returns the events of an answer.
func says(blocks ...model.Block) reply {
	return reply{events: events("msg", model.EndTurn, blocks...)}
}

func events(id string, stop model.StopReason, blocks ...model.Block) []model.Event {
	evs := []model.Event{model.Start{ID: id, Model: "fake-1", Usage: model.Usage{Input: 10}}}
	for i, b := range blocks {
		whole := b
		switch b.Type {
		case model.Text:
			evs = append(evs, model.BlockStart{Index: i, Block: model.Block{Type: model.Text}})
			for _, half := range halves(b.Text) {
				evs = append(evs, model.Delta{Index: i, Type: model.TextDelta, Text: half})
			}
		case model.Thinking:
			evs = append(evs, model.BlockStart{Index: i, Block: model.Block{Type: model.Thinking}},
				model.Delta{Index: i, Type: model.ThinkingDelta, Text: b.Text}, model.Delta{Index: i, Type: model.SignatureDelta, Text: "sig"})
			whole.Signature = "sig"
		case model.ToolUse:
			evs = append(evs, model.BlockStart{Index: i, Block: model.Block{Type: model.ToolUse, ID: b.ID, Name: b.Name}})
			for _, half := range halves(string(b.Input)) {
				evs = append(evs, model.Delta{Index: i, Type: model.InputDelta, Text: half})
			}
			stop = model.StopToolUse
		}
		evs = append(evs, model.BlockStop{Index: i, Block: whole})
	}
	return append(evs, model.Stop{Reason: stop, Usage: model.Usage{Input: 10, Output: 5}})
}

// blocksOf returns the blocks of an answer.
func blocksOf(r reply) (blocks []model.Block) {
	for _, ev := range r.events {
		if s, ok := ev.(model.BlockStop); ok {
			blocks = append(blocks, s.Block)
		}
	}
	return blocks
}

func halves(s string) []string {
	if len(s) < 2 {
		return []string{s}
	}
	return []string{s[:len(s)/2], s[len(s)/2:]}
}

func text(s string) model.Block { return model.TextOf(s) }

func thinks(s string) model.Block { return model.Block{Type: model.Thinking, Text: s} }

func use(id, name, input string) model.Block {
	return model.Block{Type: model.ToolUse, ID: id, Name: name, Input: json.RawMessage(input)}
}

// stop returns the answer with another reason to stop.
func (r reply) stop(reason model.StopReason) reply {
	last := r.events[len(r.events)-1].(model.Stop)
	last.Reason = reason
	r.events = append(slices.Clone(r.events[:len(r.events)-1]), last)
	return r
}

// cut returns the answer broken off after n events.
func (r reply) cut(n int) reply {
	r.events = r.events[:n]
	r.err = &model.Error{Kind: model.ConnectionLost, Message: "the connection broke"}
	return r
}

// echo is a tool that says what it is told.
type echoInput struct {
	Say string `json:"say" jsonschema:"What to say."`
}

func echo() tool.Tool {
	return tool.New(tool.Def[echoInput, string]{
		Name: "Echo", Description: "Says it again.",
		Marks: func(echoInput) tool.Marks { return tool.Marks{ReadOnly: true, ConcurrencySafe: true} },
		Run:   func(_ context.Context, _ *tool.Call, in echoInput) (string, error) { return in.Say, nil },
	})
}

// raw returns a tool without input that does what run says.
func raw(name string, run func(context.Context, *tool.Call) (tool.Result, error)) tool.Tool {
	t := tool.New(tool.Def[struct{}, string]{Name: name, Description: name, Run: func(context.Context, *tool.Call, struct{}) (string, error) { return "", nil }})
	t.Run = run
	return t
}

var allow = sched.JudgeFunc(func(context.Context, tool.Case) tool.Verdict { return tool.Verdict{Behavior: tool.Allow} })

// A journal keeps entries, and fails when it is told to.
type journal struct {
	*session.Session
	mu      sync.Mutex
	entries []session.Entry
	records []sched.Record
	fail    func(n int) error // n is how many were written before
}

func newJournal() *journal { return &journal{Session: session.Memory("")} }

func (j *journal) Append(_ context.Context, es ...session.Entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fail != nil {
		if err := j.fail(len(j.entries) + len(j.records)); err != nil {
			return err
		}
	}
	j.entries = append(j.entries, es...)
	return nil
}

func (j *journal) Record(_ context.Context, r sched.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fail != nil {
		if err := j.fail(len(j.entries) + len(j.records)); err != nil {
			return err
		}
	}
	j.records = append(j.records, r)
	return nil
}

// world returns options around a fake model.
func world(f *fake, tools ...tool.Tool) *agent.Options {
	return &agent.Options{
		Model: f, ModelName: "fake-1", Tools: tool.NewSet(nil, append(tools, echo()), nil, nil),
		Sched: sched.Options{Judge: allow},
	}
}

func start(t testing.TB, o *agent.Options) *agent.Agent {
	t.Helper()
	a, err := agent.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func userSays(s string) agent.Prompt { return agent.Prompt{Content: []model.Block{text(s)}} }

// run sends prompts and returns what happens until nothing is left to do.
func run(t testing.TB, a *agent.Agent, prompts ...string) []agent.Event {
	t.Helper()
	for _, p := range prompts {
		a.Send(userSays(p))
	}
	var evs []agent.Event
	for ev, err := range a.Run(context.Background()) {
		if err != nil {
			t.Fatalf("run: %v", err)
		}
		evs = append(evs, ev)
	}
	return evs
}

// of returns the events of one type.
func of[T agent.Event](evs []agent.Event) (found []T) {
	for _, ev := range evs {
		if e, ok := ev.(T); ok {
			found = append(found, e)
		}
	}
	return found
}

// result returns the only result, which must be the last event.
func result(t testing.TB, evs []agent.Event) agent.Result {
	t.Helper()
	results := of[agent.Result](evs)
	if len(results) != 1 {
		t.Fatalf("%d results, want 1", len(results))
	}
	if _, last := evs[len(evs)-1].(agent.Result); !last {
		t.Errorf("the last event is a %T", evs[len(evs)-1])
	}
	return results[0]
}

// sendable checks what would be sent next.
func sendable(t testing.TB, a *agent.Agent, f *fake) []model.Message {
	t.Helper()
	before := len(f.requests)
	run(t, a, "and now?")
	if len(f.requests) == before {
		t.Fatal("the next prompt made no request")
	}
	return f.requests[before].messages
}

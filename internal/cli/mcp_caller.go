package cli

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/mcp/serve"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// An mcpCaller takes the calls of MCP clients through the pipeline.
type mcpCaller struct {
	world *harness.World
	set   *tool.Set
	opts  sched.Options // without what belongs to one call
	err   io.Writer
	turns *turns
	calls atomic.Int64
}

// Call is [serve.Caller]. Every call is a message of its own, so the rule of a
// message, that calls share or run alone, is kept here.
func (m *mcpCaller) Call(ctx context.Context, c serve.Call) (tool.Result, error) {
	leave, err := m.turns.enter(ctx, m.alone(c))
	if err != nil {
		return tool.Failure("Cancelled before it ran."), nil
	}
	defer leave()
	feed := sched.NewFeed()
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		for e := range feed.Events(context.Background()) {
			if e.Progress != nil {
				c.Progress(e.Progress)
			}
		}
	}()
	opts := m.opts
	opts.Feeds, opts.Askers = []*sched.Feed{feed}, []sched.Asker{m.asker(c)}
	out := sched.New(&opts).Call(ctx, m.set, fmt.Sprintf("mcp-%d", m.calls.Add(1)), c.Tool, c.Input)
	feed.Close()
	<-shown // progress after the result would be about nothing
	return m.result(out), nil
}

// enter waits for a place, or for all of them, and returns what gives them back.
func (t *turns) enter(ctx context.Context, alone bool) (leave func(), err error) {
	want, got := 1, 0
	if alone {
		want = maxTogether
	}
	leave = func() {
		for range got {
			<-t.places
		}
	}
	select {
	case t.gate <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-t.gate }()
	for got < want {
		select {
		case t.places <- struct{}{}:
			got++
		case <-ctx.Done():
			leave()
			return nil, ctx.Err()
		}
	}
	return leave, nil
}

// asker asks the person's hooks first: they can decide without anybody.
func (m *mcpCaller) asker(c serve.Call) sched.Asker {
	return sched.AskerFunc(func(ctx context.Context, cs tool.Case, question tool.Verdict) (tool.Verdict, error) {
		if v, err := m.world.Hooks.Ask(ctx, cs, question); err == nil && (v.Behavior == tool.Allow || v.Behavior == tool.Deny) {
			return v, nil
		}
		return c.Ask(cs, question), nil
	})
}

// alone reports whether nothing may run beside the call. An input that cannot be
// read yet is not known to be harmless.
func (m *mcpCaller) alone(c serve.Call) (alone bool) {
	defer func() {
		if recover() != nil {
			alone = true
		}
	}()
	t := m.set.Lookup(c.Tool)
	return t == nil || !t.MarksOf(&tool.Call{Tool: t.Name, Input: c.Input, Session: m.set.Session(), Tools: m.set}).ConcurrencySafe
}

// result is the outcome with what else the model should read.
func (m *mcpCaller) result(out *sched.Outcome) tool.Result {
	r := out.Result
	r.Failed = out.IsError()
	for _, text := range repairTexts(out.Repairs) {
		r.Content = append(r.Content, tool.Text("The input was repaired: "+text).Content...)
	}
	for _, note := range out.Notes {
		r.Content = append(r.Content, tool.Text(note).Content...)
	}
	if out.Fatal != nil {
		fmt.Fprintf(m.err, "haft: %s\n", visible.Text(fmt.Sprintf("%s: %v", out.Tool, out.Fatal)))
	}
	return r
}

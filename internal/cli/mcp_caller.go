package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/mcp/serve"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
	"mvdan.cc/sh/v3/syntax"
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

// Call implements [serve.Caller]. Each call is a message of its own, so the rule that calls
// of a message share or run alone is enforced here.
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

// asker asks the user's hooks first, because they can decide without a user.
func (m *mcpCaller) asker(c serve.Call) sched.Asker {
	return sched.AskerFunc(func(ctx context.Context, cs tool.Case, question tool.Verdict) (tool.Verdict, error) {
		if v, err := m.world.Hooks.Ask(ctx, cs, question); err == nil && (v.Behavior == tool.Allow || v.Behavior == tool.Deny) {
			return v, nil
		}
		v := c.Ask(cs, question)
		if v.Unasked {
			v.Message = "Denied: " + v.Reason + "." + m.howToAllow(v.Suggestions)
		}
		return v, nil
	})
}

// howToAllow says how a user whose client cannot ask allows such calls.
func (m *mcpCaller) howToAllow(rules []tool.Suggestion) string {
	if len(rules) == 0 {
		return " No rule can allow it: the user must be asked, which needs a client that supports elicitation."
	}
	var commands []string
	for _, s := range rules {
		rule, err := syntax.Quote(s.Rule, syntax.LangBash)
		if err != nil { // no shell can be given it
			return " No rule can allow it: the user must be asked, which needs a client that supports elicitation."
		}
		commands = append(commands, "haft permissions add allow "+rule)
	}
	what := "this command"
	if len(commands) > 1 {
		what = "these commands"
	}
	return " Tell the user how to allow such calls: run " + what + " in " + m.world.Project.Dir + " and restart this MCP server.\n" + strings.Join(commands, "\n")
}

// alone reports whether nothing may run at the same time as the call. An input that cannot
// be parsed yet is not known to be harmless.
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
		m.report(out.Tool, out.Fatal)
	}
	if r.Failed {
		return r // what failed has no structure
	}
	small, err := servable[out.Tool].result.of(r)
	if err != nil {
		m.report(out.Tool, err)
		small = textResult{r.Text()}
	}
	r.Output = small
	return r
}

func (m *mcpCaller) report(name string, err error) {
	fmt.Fprintf(m.err, "haft: %s\n", visible.Text(fmt.Sprintf("%s: %v", name, err)))
}

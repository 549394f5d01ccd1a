package tui

import (
	"context"
	"slices"

	exitplan "github.com/haftdev/haft/tool/plan"

	"github.com/haftdev/haft/internal/tui/markdown"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/question"
)

// asked is a question that waits for the person.
type asked struct {
	panel  panel
	call   *tool.Call // that it is about; nil for none
	answer chan tool.Verdict
	over   bool // it needs no answer any more
}

// person is the one in front of the terminal, for the pipeline.
type person struct{ *app }

// Ask shows the question and returns what the person decides.
func (p person) Ask(ctx context.Context, c tool.Case, question tool.Verdict) (tool.Verdict, error) {
	q := &asked{call: c.Call, answer: make(chan tool.Verdict, 1)}
	p.later(func() { p.ask(q, c, question) })
	select {
	case v := <-q.answer:
		return v, nil
	case <-ctx.Done():
		go p.later(func() { p.withdraw(q) }) // the app may be waiting for this very call to end
		return tool.Verdict{}, ctx.Err()
	case <-p.ctx.Done():
		return tool.Verdict{}, p.ctx.Err()
	}
}

// ask adds a question to those that wait.
func (a *app) ask(q *asked, c tool.Case, question tool.Verdict) {
	decide := func(v tool.Verdict) {
		q.answer <- v
		a.withdraw(q)
	}
	switch c.Call.Tool {
	case "AskUserQuestion":
		q.panel = newQuestions(c, decide)
	case "ExitPlanMode":
		q.panel = newPlan(a, c, decide)
	}
	if q.panel == nil {
		q.panel = newPermission(a, c, question, decide)
	}
	a.asks = append(a.asks, q)
	a.markAsked()
	a.nextAsk()
	a.dirty = true
}

// newPlan returns nil for a call that has no plan which can be shown.
func newPlan(a *app, c tool.Case, decide func(tool.Verdict)) panel {
	words := exitplan.Text(c.Call)
	if words == "" {
		return nil
	}
	// The plan goes into the scrollback, where it can be read however long it is.
	shown := &text{stream: markdown.New(a.view().width, a.paint)}
	shown.stream.Write("# " + a.t("The plan") + "\n\n" + words)
	shown.close()
	a.show.insert(shown, a.turn().calls[c.Call.UseID])
	return newPlanPanel(a, words, decide)
}

// insert puts a block before another one that is live, or before everything that
// is, except a text of which a part has gone up already.
func (t *transcript) insert(b, before block) {
	at := max(slices.Index(t.live, before), 0)
	if t.begun {
		at = max(at, 1)
	}
	t.live = slices.Insert(t.live, min(at, len(t.live)), b)
}

// newQuestions returns nil for a call that asks nothing which can be shown.
func newQuestions(c tool.Case, decide func(tool.Verdict)) panel {
	in, err := question.Of(c.Call)
	if err != nil || len(in.Questions) == 0 {
		return nil
	}
	return &questions{input: in, decide: decide, chosen: map[int]bool{}, answers: map[string]string{}}
}

// markAsked marks the calls that wait for the person, and those whose agents do.
func (a *app) markAsked() {
	if a.working == nil {
		return
	}
	for _, c := range a.working.calls {
		c.waits, c.asks = false, false
	}
	for _, q := range a.asks {
		if q.call == nil || q.over {
			continue
		}
		if c := a.working.calls[q.call.UseID]; c != nil && q.call.Agent == "" {
			c.waits = true
		}
		if c := a.callFor(q.call.Agent); c != nil {
			c.asks = true
		}
	}
}

// callFor is the running call that gave work to an agent; nil if there is none.
func (a *app) callFor(agent string) *call {
	if agent == "" || a.working == nil {
		return nil
	}
	return a.working.calls[a.crew[agent].UseID]
}

// withdraw takes a question away that was answered, or needs no answer any more.
func (a *app) withdraw(q *asked) {
	q.over = true
	a.markAsked()
	if a.dialog != nil && a.dialog.panel == q.panel {
		a.dialog = nil
	}
	a.nextAsk()
	a.dirty = true
}

// nextAsk shows the first question that waits, if nothing else is shown.
func (a *app) nextAsk() {
	for len(a.asks) > 0 && a.asks[0].over {
		a.asks = a.asks[1:]
	}
	if a.dialog == nil && len(a.asks) > 0 {
		a.dialog = &dialog{panel: a.asks[0].panel}
		a.dirty = true
		a.opts.Out.Write([]byte("\a")) // for a person who looks elsewhere; an error is seen at the next frame
	}
}

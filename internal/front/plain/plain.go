// Package plain shows a conversation as lines of text that only ever grow: for
// logs, for screen readers, for terminals without a screen. It draws from the
// agent's events and nothing else.
//
// A Printer belongs to one goroutine.
package plain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// Options are how a conversation is shown. Nil means all zero values.
type Options struct {
	// Lang has the messages; nil has those in English.
	Lang *lang.Catalogue
	// Color uses colours.
	Color bool
	// Asks says that questions are asked where the conversation is shown, by others: that a
	// call waits for an answer is seen there.
	Asks bool
	// Verdicts says of each call what allowed it. Denials are always explained.
	Verdicts bool
	// DiffLines is how many lines of a change are shown; 0 means 40. ErrorLines is
	// how many of what a failed call says; 0 means 12.
	DiffLines, ErrorLines int
}

// A Printer shows a conversation.
type Printer struct {
	out   io.Writer
	opts  Options
	tools *tool.Set
	calls map[string]*call // by use id, of those without a result
	// said is set while the model's text has no line break behind it.
	said bool
	// byAgents is how many calls other agents made in this turn.
	byAgents int
	// retried is why the model was asked again last.
	retried string
	err     error
}

// A call is what was shown of a call.
type call struct {
	card.Card
	last string        // line of progress
	next time.Duration // when the same line may be shown again
}

// New returns a printer to out.
func New(out io.Writer, opts *Options) *Printer {
	p := &Printer{out: out, calls: make(map[string]*call)}
	if opts != nil {
		p.opts = *opts
	}
	p.opts.DiffLines = cmp.Or(p.opts.DiffLines, 40)
	p.opts.ErrorLines = cmp.Or(p.opts.ErrorLines, 12)
	return p
}

// t is a message in the user's language.
func (p *Printer) t(text lang.Text, args ...any) string { return p.opts.Lang.T(text, args...) }

// Show prints what happened. It returns the first error of the writer, from
// then on always.
func (p *Printer) Show(ev agent.Event) error {
	switch ev := ev.(type) {
	case agent.TurnStarted:
		p.tools = ev.Tools
	case agent.Streamed:
		p.stream(ev.Event)
	case agent.Said:
		p.block(ev)
	case agent.Called:
		if ev.Progress != nil {
			p.progress(ev)
		}
	case agent.Returned:
		p.result(ev)
	case agent.Waiting:
		if p.opts.Asks {
			break
		}
		p.line(dim, "  … %s", p.t("%s is waiting for an answer", p.call(ev.UseID, ev.Tool, nil)))
	case agent.Retrying:
		p.retrying(ev)
	case agent.FellBack:
		p.line(yellow, "! %s", p.t("falling back to %s from %s", ev.To, ev.From))
	case agent.Compacted:
		p.compacted(ev)
	case agent.Notice:
		p.line(yellow, "! %s", visible.Indented(ev.Text))
	case agent.Added:
		if ev.Kind == agent.Interrupted {
			p.line(yellow, "! %s", p.t("interrupted"))
		}
	case agent.Changed:
		p.changed(ev)
	case agent.Result:
		p.end(ev)
	}
	return p.err
}

// retrying says why the model is asked again, and the same reason only once in a row.
func (p *Printer) retrying(ev agent.Retrying) {
	why := ev.Err.Error()
	if ev.Attempt > 1 && why == p.retried {
		p.line(yellow, "! %s", p.t("retrying in %s (%d of %d)", ev.Delay.Round(100*time.Millisecond), ev.Attempt, ev.Max))
		return
	}
	p.retried = why
	p.line(yellow, "! %s", p.t("the request to the model failed: %s. Retrying in %s (%d of %d)",
		why, ev.Delay.Round(100*time.Millisecond), ev.Attempt, ev.Max))
}

// changed prints the facts that a user wants to follow.
func (p *Printer) changed(c agent.Changed) {
	switch c.What {
	case agent.Todos, agent.Tasks:
		p.todos(c.Value)
	case agent.Mode:
		p.line(dim, "  %s", p.t("the permission mode is now %v", c.Value))
	case agent.ModelName:
		p.line(dim, "  %s", p.t("the model is now %v", c.Value))
	}
}

// stream prints the model's words as they come.
func (p *Printer) stream(ev model.Event) {
	switch ev := ev.(type) {
	case model.Delta:
		if ev.Type == model.TextDelta {
			p.print(visibleText(ev.Text))
			p.said = !strings.HasSuffix(ev.Text, "\n")
		}
	case model.BlockStop:
		p.breakLine()
	}
}

// block prints what was not streamed: a call, and a text that is not the model's.
// A todo list is shown itself, when it has changed.
func (p *Printer) block(s agent.Said) {
	switch {
	case s.Block.Type == model.ToolUse && s.Block.Name != todoTool:
		p.line(bold, "▸ %s", p.call(s.Block.ID, s.Block.Name, s.Block.Input))
	case s.Error != nil:
		p.line(red, "✗ %s", visibleText(s.Block.Text))
	}
}

const todoTool = "TodoWrite"

// call returns what was shown of a call.
func (p *Printer) call(useID, name string, input json.RawMessage) *call {
	c, ok := p.calls[useID]
	if !ok {
		c = &call{Card: card.Of(p.tools, useID, name, input)}
		p.calls[useID] = c
	}
	return c
}

func (p *Printer) progress(ev agent.Called) {
	c := p.call(ev.UseID, ev.Tool, nil)
	var text string
	switch pr := ev.Progress.(type) {
	case tool.TextProgress:
		text = pr.Text
	case tool.BashProgress:
		last := strings.TrimRight(pr.Output, "\n")
		last = last[strings.LastIndexByte(last, '\n')+1:]
		if last == c.last && pr.Elapsed < c.next {
			return // nothing new: lines that only count would drown the rest
		}
		c.last, c.next = last, 2*pr.Elapsed
		text = fmt.Sprintf("%s, %s %s", pr.Elapsed.Round(time.Second), p.opts.Lang.Count(int(pr.Lines), "line"), last)
	case tool.AgentProgress:
		text = fmt.Sprintf("%s (%s)", pr.Activity, p.opts.Lang.Count(pr.ToolUses, "call"))
	case tool.MCPProgress:
		text = fmt.Sprintf("%s %g/%g", pr.Message, pr.Progress, pr.Total)
	default:
		return
	}
	name := c.Title
	if _, ok := ev.Progress.(tool.AgentProgress); ok {
		name = c.String() // several may run at once
	}
	p.line(dim, "  … %s: %s", name, visible.Indented(text))
}

func (p *Printer) result(r agent.Returned) {
	out := r.Outcome
	c := p.call(out.UseID, out.Tool, out.Input)
	delete(p.calls, out.UseID)
	if out.Agent != "" {
		p.byAgents++
	}
	end := card.End(p.tools, out, p.opts.Lang)
	switch {
	case !end.OK:
		p.line(red, "  ✗ %s: %s%s", c, end.Line, aside(0, end.Confined))
		p.reason(out)
	case out.Tool == todoTool:
		return
	default:
		p.line(green, "  ✓ %s: %s%s", c, end.Line, aside(end.Took, end.Confined))
	}
	if end.Verdict != "" && end.Verdict != end.Line && (p.opts.Verdicts || !end.OK && out.Verdict.Behavior == tool.Deny) {
		p.line(dim, "    %s", end.Verdict)
	}
	p.diff(end)
}

// reason prints what a call that ran and failed says beyond its first line.
func (p *Printer) reason(out *sched.Outcome) {
	if !out.Ran() {
		return
	}
	lines := strings.Split(strings.TrimSpace(out.Result.Text()), "\n")[1:]
	for i, l := range lines {
		if i == p.opts.ErrorLines {
			p.line(dim, "    … %s", p.opts.Lang.Count(len(lines)-i, "more line"))
			return
		}
		p.line(dim, "    %s", visibleText(l))
	}
}

func (p *Printer) diff(end card.Ending) {
	left := p.opts.DiffLines
	for _, h := range end.Hunks {
		for _, l := range h.Lines {
			if left--; left < 0 {
				p.line(dim, "    … %s", p.t("and more"))
				return
			}
			style := dim
			switch {
			case strings.HasPrefix(l, "+"):
				style = green
			case strings.HasPrefix(l, "-"):
				style = red
			}
			p.line(style, "    %s", visibleText(l))
		}
	}
}

func (p *Printer) compacted(c agent.Compacted) {
	if c.Err != nil {
		p.line(yellow, "! %s", p.t("could not compact the conversation: %s", c.Err))
		return
	}
	p.line(dim, "  %s", p.t("the conversation was compacted from %d to %d tokens", c.PreTokens, c.Tokens))
}

func (p *Printer) end(r agent.Result) {
	p.breakLine()
	for _, e := range r.Errors {
		p.line(red, "✗ %s", visibleText(e))
	}
	var cost float64
	for _, u := range r.Total {
		cost += u.Cost
	}
	calls := p.opts.Lang.Count(r.Calls, "call")
	if p.byAgents > 0 {
		calls += ", " + p.t("%d more by agents", p.byAgents)
		p.byAgents = 0
	}
	s := fmt.Sprintf("%s, %s, %s", calls, p.opts.Lang.Count(r.Requests, "request"), r.Duration.Round(10*time.Millisecond))
	if cost > 0 {
		s += ", " + p.t("$%.4f so far", cost)
	}
	p.line(dim, "— %s", s)
}

// line prints one line of its own.
func (p *Printer) line(s style, format string, args ...any) {
	p.breakLine()
	text := fmt.Sprintf(format, args...)
	if p.opts.Color {
		text = "\x1b[" + string(s) + "m" + text + "\x1b[0m"
	}
	p.print(text + "\n")
}

// breakLine ends the model's text if it stands in the middle of a line.
func (p *Printer) breakLine() {
	if p.said {
		p.said = false
		p.print("\n")
	}
}

func (p *Printer) print(s string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.out, s)
	}
}

// todos prints the list. The tools' own types are not needed for that: they are what
// goes to every front end, as JSON. Tasks are added one by one, each with a line of its
// own: their list is printed once one is begun.
func (p *Printer) todos(value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		return
	}
	type item struct {
		Content    string `json:"content"`
		Subject    string `json:"subject"`
		ActiveForm string `json:"activeForm"`
		Status     string `json:"status"`
	}
	var list []item
	if json.Unmarshal(raw, &list) != nil {
		return
	}
	if !slices.ContainsFunc(list, func(i item) bool { return i.Subject == "" || i.Status != "pending" }) {
		return
	}
	for _, t := range list {
		what := cmp.Or(t.Content, t.Subject)
		switch t.Status {
		case "completed":
			p.line(dim, "  [x] %s", visible.Indented(what))
		case "in_progress":
			p.line(bold, "  [>] %s", visible.Indented(cmp.Or(t.ActiveForm, what)))
		default:
			p.line(dim, "  [ ] %s", visible.Indented(what))
		}
	}
}

// aside is what else is to be said of a call: how long it took and what held it.
func aside(took time.Duration, confined string) string {
	var parts []string
	switch {
	case took == 0:
	case took < 10*time.Millisecond:
		parts = append(parts, took.Round(10*time.Microsecond).String())
	default:
		parts = append(parts, took.Round(10*time.Millisecond).String())
	}
	if confined != "" {
		parts = append(parts, confined)
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

type style string

const (
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
)

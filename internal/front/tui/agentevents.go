package tui

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/drive"
	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/front/tui/markdown"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
)

// working is a turn that runs.
type working struct {
	since time.Time
	texts map[int]*text // blocks of the answer that is streamed
	think map[int]*thought
	calls map[string]*call // by use id
	stops bool             // it was interrupted
	says  string           // what goes on instead of an answer
}

// happened shows an event.
func (a *app) happened(s streamed) {
	a.dirty = true
	if s.end {
		a.streamEnded(s.err)
		return
	}
	switch ev := s.ev.(type) {
	case drive.CommandDone:
		a.answered(ev)
	case agent.TurnStarted:
		a.turn()
		a.status.model, a.status.mode = ev.Model, ev.Mode
	case agent.Requesting:
		a.turn().says = ""
		a.status.model = ev.Model
		a.measure()
	case agent.Streamed:
		a.streamed(ev.Event)
	case agent.Said:
		a.said(ev)
	case agent.Retracted:
		a.retracted()
	case agent.Called:
		a.called(ev)
	case agent.Returned:
		a.returned(ev.Outcome)
	case agent.Added:
		a.added(ev)
	case agent.Retrying:
		a.turn().says = a.t("retrying in %s (%d of %d): %s", seconds(ev.Delay), ev.Attempt, ev.Max, visible.Cells(ev.Err.Error()))
	case agent.FellBack:
		a.note(a.t("falling back to %s from %s", ev.To, ev.From))
	case agent.Compacting:
		a.turn().says = a.t("summarizing the conversation")
	case agent.Compacted:
		a.compacted(ev)
	case agent.Changed:
		a.changed(ev)
	case agent.TaskChanged:
		a.task(ev)
	case agent.Notice:
		a.note(ev.Text)
		if ev.Tag == agent.Push {
			a.attract(ev.Text)
		}
	case agent.Result:
		a.result(ev)
	}
}

// task takes in how something in the background is getting on.
func (a *app) task(ev agent.TaskChanged) {
	a.crew[ev.Task.ID] = ev.Task
	if ev.Task.Status != "running" {
		delete(a.crew, ev.Task.ID)
	}
	if ev.Task.Background && ev.Task.Status == "running" {
		a.tasks[ev.Task.ID] = ev.Task
		return
	}
	if _, known := a.tasks[ev.Task.ID]; known {
		delete(a.tasks, ev.Task.ID)
		a.show.add(a.ended(ev.Task))
	}
}

// turn is the turn that runs.
func (a *app) turn() *working {
	if a.working == nil {
		a.working = &working{since: time.Now(), texts: map[int]*text{}, think: map[int]*thought{}, calls: map[string]*call{}}
	}
	return a.working
}

// attract draws the attention of a user who looks elsewhere: terminals that know OSC 9 show
// a notification of the desktop, and others ring.
func (a *app) attract(text string) {
	a.opts.Out.Write([]byte("\x1b]9;" + strings.ReplaceAll(visible.Text(text), "\n", " ") + "\x1b\\\a")) // an error is seen at the next frame
}

func (a *app) note(text string) { a.show.add(&note{text: text, style: warning}) }

// streamed shows a piece of an answer.
func (a *app) streamed(ev model.Event) {
	w := a.turn()
	switch ev := ev.(type) {
	case model.Delta:
		switch ev.Type {
		case model.TextDelta:
			a.textAt(ev.Index).write(ev.Text)
		case model.ThinkingDelta:
			if w.think[ev.Index] == nil {
				w.think[ev.Index] = &thought{since: time.Now()}
				a.show.add(w.think[ev.Index])
			}
			w.think[ev.Index].text.WriteString(ev.Text)
		}
	case model.BlockStop:
		if b := w.texts[ev.Index]; b != nil {
			b.close()
			a.record(answerTitle, b.words.String())
			delete(w.texts, ev.Index)
		}
		if b := w.think[ev.Index]; b != nil {
			b.close()
			a.record("Thought", b.text.String())
			delete(w.think, ev.Index)
		}
	}
}

// textAt is the text block of an answer.
func (a *app) textAt(index int) *text {
	w := a.turn()
	b := w.texts[index]
	if b == nil {
		b = &text{stream: markdown.New(a.view().width, a.paint)}
		w.texts[index] = b
		a.show.add(b)
	}
	return b
}

// said shows a whole block that was not streamed: a call, or why there is no
// answer.
func (a *app) said(ev agent.Said) {
	switch {
	case ev.Agent != "" && ev.Block.Type == model.ToolUse:
		if c := a.callFor(ev.Agent); c != nil {
			c.does(card.Of(a.talk.State.Tools(), ev.Block.ID, ev.Block.Name, ev.Block.Input))
		}
	case ev.Agent != "":
	case ev.Block.Type == model.ToolUse:
		a.callOf(ev.Block.ID, ev.Block.Name, ev.Block.Input)
		a.markAsked()
	case ev.Error != nil:
		a.show.add(&note{text: ev.Block.Text, style: failure})
	}
}

// todoTool's calls are shown as the list that they change.
const todoTool = "TodoWrite"

func (a *app) callOf(useID, name string, input json.RawMessage) *call {
	w := a.turn()
	c := w.calls[useID]
	if c == nil {
		c = newCall(card.Of(a.talk.State.Tools(), useID, name, input))
		w.calls[useID] = c
		if name != todoTool {
			a.show.add(c)
		}
	}
	return c
}

// retracted takes back what was said and is asked for again. What has gone up
// already stays, with a word about it.
func (a *app) retracted() {
	w := a.turn()
	for i, b := range w.texts {
		b.close()
		delete(w.texts, i)
	}
	for i, b := range w.think {
		b.close()
		delete(w.think, i)
	}
	a.note(a.t("The answer broke off. Retrying."))
}

func (a *app) called(ev agent.Called) {
	if ev.Agent != "" {
		return
	}
	c := a.turn().calls[ev.UseID]
	if c == nil {
		return
	}
	if ev.Progress != nil {
		c.progress(ev.Progress, a.lang)
	} else if ev.State == sched.Executing && !c.started {
		c.started, c.since = true, time.Now()
	}
}

func (a *app) returned(out *sched.Outcome) {
	if out.Agent != "" {
		return
	}
	c := a.callOf(out.UseID, out.Tool, out.Input)
	a.endCall(c, out)
	delete(a.turn().calls, out.UseID)
}

// endCall shows how a call went.
func (a *app) endCall(c *call, out *sched.Outcome) {
	end := card.End(a.talk.State.Tools(), out, a.lang)
	c.end = &end
	a.edited = a.edited || len(end.Hunks) > 0
	a.record(lang.Text(c.Card.String()), fullCall(out, end))
}

// fullCall is all of a call: what was sent, what decided, what came back.
func fullCall(out *sched.Outcome, end card.Ending) string {
	text := "input " + plainjson.Indented(out.Input) + "\n"
	if end.Verdict != "" {
		text += end.Verdict + "\n"
	}
	text += "\n" + out.Result.Text()
	for _, h := range end.Hunks {
		if !tells(out.Result.Text(), h.Lines) {
			text += "\n" + strings.Join(h.Lines, "\n")
		}
	}
	return text
}

// tells reports whether a result has all lines that a change adds or removes.
func tells(result string, lines []string) bool {
	return !slices.ContainsFunc(lines, func(l string) bool {
		return l != "" && l[0] != ' ' && !strings.Contains(result, l[1:])
	})
}

// added shows what joined the conversation.
func (a *app) added(ev agent.Added) {
	switch {
	case ev.Agent != "":
	case ev.Kind == agent.Prompted && ev.Prompt != nil && !ev.Prompt.Silent:
		said := typedText(*ev.Prompt)
		a.show.add(&saidBlock{text: said})
		a.record("You", said)
	case ev.Kind == agent.Interrupted:
		a.turn().stops = true
	}
}

// typedText is what the user typed for a prompt.
func typedText(p agent.Prompt) string { return cmp.Or(p.Said, promptText(p.Content)) }

// promptText is what a person sees of what they said.
func promptText(blocks []model.Block) string {
	var parts []string
	for _, b := range blocks {
		switch {
		case b.Type == model.Text:
			parts = append(parts, b.Text)
		default:
			parts = append(parts, "["+string(b.Type)+"]")
		}
	}
	return strings.Join(parts, "\n")
}

func (a *app) compacted(ev agent.Compacted) {
	if ev.Err != nil {
		a.note(a.t("Could not compact the conversation: %s", ev.Err))
		return
	}
	a.show.add(&note{text: a.t("The conversation was compacted from %s to %s tokens.", thousands(ev.PreTokens), thousands(ev.Tokens)), quiet: true})
	a.measure()
}

func (a *app) changed(ev agent.Changed) {
	switch ev.What {
	case agent.Mode:
		a.status.mode = fmt.Sprint(ev.Value)
	case agent.ModelName:
		a.status.model = fmt.Sprint(ev.Value)
		a.measure()
	case agent.Todos, agent.Tasks:
		a.todos = todosOf(ev.Value)
	case agent.Cleared:
		a.show.add(&note{text: a.t("Started a new conversation."), quiet: true})
		a.todos = nil
		a.measure()
	case agent.Directory:
		a.look()
	}
}

// todosOf reads the list as every front end gets it, as JSON.
func todosOf(value any) []todo {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	var items []struct {
		todo
		Subject string `json:"subject"` // of a task
	}
	if json.Unmarshal(raw, &items) != nil {
		return nil
	}
	var list []todo
	for _, i := range items {
		i.Content = cmp.Or(i.Content, i.Subject)
		i.Active = cmp.Or(i.Active, i.Content)
		list = append(list, i.todo)
	}
	return list
}

// result ends a turn.
func (a *app) result(r agent.Result) {
	w := a.turn()
	for _, c := range w.calls {
		c.close()
	}
	a.show.finish()
	switch {
	case r.Reason == agent.AbortedStreaming || r.Reason == agent.AbortedTools:
		a.show.add(&note{text: a.t("Interrupted. What should haft do instead?"), style: warning})
	case r.Reason.IsError() && r.Err == nil:
		a.show.add(&note{text: strings.Join(r.Errors, "\n") + " (" + string(r.Reason) + ")", style: failure})
	}
	if took := time.Since(w.since); took > 30*time.Second {
		a.show.add(&note{text: fmt.Sprintf("%s, %s", a.lang.Count(r.Calls, "call"), seconds(took)), quiet: true})
	}
	a.advise(r)
	a.working = nil
	if a.files != nil {
		a.files.old = true
	}
	a.measure()
	a.look()
}

// advise suggests what may be said next: to continue what broke off, or to review what was
// changed.
func (a *app) advise(r agent.Result) {
	switch {
	case r.Reason == agent.AbortedStreaming || r.Reason == agent.AbortedTools || r.Reason.IsError():
		a.advice = "continue"
	case a.edited:
		a.advice = "/review"
	default:
		a.advice = ""
	}
	a.edited = false
}

// streamEnded is told when the conversation's events end.
func (a *app) streamEnded(err error) {
	if err != nil && a.ctx.Err() == nil {
		a.show.add(&note{text: a.t("The conversation has ended: %s", err), style: failure})
	}
	a.working = nil
}

package tui

import (
	"cmp"
	"slices"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/drive"
	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/model"
)

// The dialogs are the dialogs: those that calls wait for, and those that the user opened.
type dialogs struct {
	progress

	asks    []*asked // that wait, the first is shown
	dialog  *dialog  // nil for none
	lastKey time.Time
	widens  string           // the mode that shift+tab chose and that is not in force yet; "" for none
	wider   <-chan time.Time // when it will be
}

// still reports whether nothing moves because all that goes on waits for the
// person.
func (a *dialogs) still() bool {
	if !a.waits() {
		return false
	}
	for _, c := range a.working.calls {
		if c.started && !c.waits && !c.asks {
			return false
		}
	}
	return true
}

// happened shows an event.
func (a *dialogs) happened(s streamed) {
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

// said shows a whole block that was not streamed: a call, or why there is no
// answer.
func (a *dialogs) said(ev agent.Said) {
	if ev.Agent == "" {
		a.count.last = ev.Usage
	}
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

// markAsked marks the calls that wait for the person, and those whose agents do.
func (a *dialogs) markAsked() {
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

// withdraw takes a question away that was answered, or needs no answer any more.
func (a *dialogs) withdraw(q *asked) {
	q.over = true
	a.markAsked()
	if a.dialog != nil && a.dialog.panel == q.panel {
		a.dialog = nil
	}
	a.nextAsk()
	a.dirty = true
}

// nextAsk shows the first question that waits, if nothing else is shown.
func (a *dialogs) nextAsk() {
	for len(a.asks) > 0 && a.asks[0].over {
		a.asks = a.asks[1:]
	}
	if a.dialog == nil && len(a.asks) > 0 {
		a.dialog = &dialog{panel: a.asks[0].panel}
		a.dirty = true
		asks, _ := a.asks[0].panel.(interface{ asks(*lang.Catalogue) string })
		a.attract(asks.asks(a.lang))
	}
}

// pop shows a panel that the person called for.
func (a *dialogs) pop(p panel) {
	a.dialog = &dialog{panel: p, own: true, focused: true}
	a.dirty = true
}

// closeOwn closes the panel that the person called for, and shows the question
// that may wait.
func (a *dialogs) closeOwn() bool {
	d := a.dialog
	a.dialog = nil
	if p, ok := d.panel.(interface{ closed() }); ok {
		p.closed()
	}
	a.nextAsk()
	return true
}

// waits reports whether the person is asked about something that the turn does.
func (a *dialogs) waits() bool {
	return slices.ContainsFunc(a.asks, func(q *asked) bool { return q.call != nil && !q.over })
}

// focus is told when the terminal's window gets or loses the focus. A question
// does not stay turned to while the person is elsewhere.
func (a *dialogs) focus(has bool) {
	if a.dialog != nil && !has {
		a.dialog.turnAway()
	}
	a.lastKey = time.Now()
}

// nextMode goes to the next permission mode.
func (a *dialogs) nextMode() {
	if a.talk == nil {
		return
	}
	if a.waits() {
		a.hint = a.t("a question waits: answer it first, then change the mode")
		return
	}
	mode, ok := cycle[cmp.Or(a.widens, a.talk.Rules.Mode())]
	if !ok {
		mode = "default"
	}
	a.widens, a.status.mode = mode, mode
	if a.wider = time.After(widening); mode != acceptEdits {
		a.useMode()
	}
}

// widening is how long after shift+tab a mode that allows more takes effect: nothing is
// allowed on the way to another mode.
const widening = 500 * time.Millisecond

// useMode has the mode that was chosen last take effect.
func (a *dialogs) useMode() {
	mode := a.widens
	a.widens, a.wider = "", nil
	if mode == "" || a.talk == nil {
		return
	}
	if err := a.talk.Driver.SetMode(mode); err != nil {
		a.hint = a.lang.Error(err)
	}
	a.status.mode, a.dirty = a.talk.Rules.Mode(), true
}

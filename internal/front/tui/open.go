package tui

import (
	"context"
	"time"

	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/session"
)

// open begins or resumes a conversation while the person may already write.
func (a *app) open(o Opening) {
	a.closeTalk()
	a.stream++
	stream := a.stream
	a.reopens = notAgain
	clear(a.tasks) // they ended with their conversation
	clear(a.crew)
	a.talk, a.files, a.todos, a.working, a.failure = nil, nil, nil, nil, nil
	go func() {
		talk, err := a.opts.Open(a.ctx, o, person{a})
		var past []session.Entry
		var held []trust.Item
		advice := ""
		if err == nil {
			past, held = talk.Past.Said(a.ctx), talk.Rules.Held()
			if len(past) == 0 && len(talk.Input.Instructions()) == 0 {
				advice = "/init"
			}
		}
		a.later(func() {
			a.advice, a.edited = advice, false
			if o.Shown {
				past = nil
			}
			a.opened(stream, talk, past, err)
			if err == nil && o.Note != "" {
				a.show.add(&note{text: o.Note, quiet: true})
			}
			if err == nil {
				a.askTrust(held)
				a.submitPending()
			}
		})
	}()
}

func (a *app) opened(stream int, talk *Talk, past []session.Entry, err error) {
	a.dirty = true
	if err != nil {
		a.failure = err
		if a.needsModel() {
			a.setUp(true)
			return
		}
		a.show.add(&note{text: a.lang.Error(err) + "\n" + a.nowhere(), style: failure})
		return
	}
	a.talk = talk
	a.prefer()
	a.status.mode, a.status.model = talk.Rules.Mode(), talk.State.ContextUsage().Model
	a.look()
	a.measure()
	a.replay(past)
	ctx, cancel := context.WithCancel(a.ctx)
	ended := make(chan struct{})
	a.release = func() <-chan struct{} {
		cancel()
		return ended
	}
	go func() {
		defer close(ended)
		for ev, err := range talk.Driver.Run(ctx) {
			select {
			case a.events <- streamed{stream: stream, ev: ev, err: err, end: ev == nil}:
			case <-ctx.Done():
				return
			}
		}
	}()
}

// needsModel reports whether there is no conversation because no model is set up.
func (a *app) needsModel() bool { return a.opts.Setup != nil && a.opts.Setup.Needed(a.failure) }

// submitPending takes up what was written before it could be.
func (a *app) submitPending() {
	waiting := a.pending
	a.pending = nil
	for _, text := range waiting {
		a.submit(text)
	}
}

// closeTalk ends the conversation that is shown.
func (a *app) closeTalk() {
	talk := a.talk
	if talk == nil {
		return
	}
	a.talk = nil
	a.stream++ // what still comes is not shown
	a.asks, a.dialog, a.unguarded = nil, nil, false
	<-a.release()
	if ended := talk.Turns.Running(); ended != "" {
		a.note(a.t("Ended these background commands:") + "\n" + ended)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), 5*time.Second)
	defer cancel()
	if _, err := talk.Driver.Close(ctx); err != nil {
		a.note(a.lang.Error(err))
	}
}

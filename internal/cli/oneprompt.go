package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/wire"
)

// codeError carries the exit code of something whose outcome was already shown.
type codeError int

func (e codeError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// onePromptRemarks are what a user should know while one prompt is answered.
type onePromptRemarks struct {
	remarks
	retried string // why the model was asked again last
}

// show writes down an event if it is one to know of.
func (r *onePromptRemarks) show(ev agent.Event) error {
	switch ev := ev.(type) {
	case agent.Notice:
		r.notice(ev)
	case agent.Retrying:
		text := fmt.Sprintf("retrying in %s (%d of %d)", ev.Delay.Round(100*time.Millisecond), ev.Attempt, ev.Max)
		if why := ev.Err.Error(); ev.Attempt == 1 || why != r.retried { // the same reason is said once in a row
			r.retried = why
			text = fmt.Sprintf("the request to the model failed: %s. R%s", why, text[1:])
		}
		r.notice(agent.Notice{Level: "warning", Text: text})
	case agent.FellBack:
		r.notice(agent.Notice{Level: "warning", Text: fmt.Sprintf("falling back to %s from %s", ev.To, ev.From)})
	}
	return nil // failing to write the notice does not stop the run
}

// onInterrupt lets the first Ctrl-C stop the turn and not the process; a second one kills. A
// repeated request to terminate does not: everything is already being stopped, and that takes
// only a moment.
func onInterrupt(ctx context.Context) func(stop func()) {
	return func(stop func()) {
		signal.Notify(make(chan os.Signal, 1), terminations()...)
		interrupted, release := signal.NotifyContext(ctx, os.Interrupt)
		context.AfterFunc(interrupted, func() {
			release()
			if ctx.Err() == nil {
				stop()
			}
		})
	}
}

// code is how the process ends: a signal that ends it says so.
func code(ctx context.Context, n int) error {
	if ctx.Err() != nil {
		return codeError(exitTerminated)
	}
	if n == 0 {
		return nil
	}
	return codeError(n)
}

// messages keeps the result of the last turn, because background work may add another one
// after the first, and everything if all is set.
type messages struct {
	all    bool
	list   []json.RawMessage
	result *wire.Result
}

func (l *messages) Write(m wire.Message) error {
	if r, ok := m.(*wire.Result); ok {
		l.result = r
	}
	if !l.all {
		return nil
	}
	line, err := wire.Encode(m)
	l.list = append(l.list, line)
	return err
}

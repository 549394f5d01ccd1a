package crew

import (
	"fmt"
	"sync"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
)

// stalledError tells that an agent fell silent.
type stalledError struct{ text string }

func (e *stalledError) Error() string { return e.text }

// A watchdog barks when an agent is silent for too long. Calls that run are not
// silence: they have limits of their own.
type watchdog struct {
	first, idle time.Duration
	bark        func(error)

	mu    sync.Mutex
	timer *time.Timer
	calls map[string]bool
}

func newWatchdog(first, idle time.Duration, bark func(error)) *watchdog {
	w := &watchdog{first: first, idle: idle, bark: bark, calls: make(map[string]bool)}
	w.wait(idle, "it did nothing")
	return w
}

// see notes that the agent lives, and what it is waiting for now.
func (w *watchdog) see(ev agent.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch ev := ev.(type) {
	case agent.Called:
		switch ev.State {
		case sched.Executing:
			w.calls[ev.CallID] = true
		case sched.Completed, sched.Yielded:
			delete(w.calls, ev.CallID)
		}
	case agent.Waiting: // for a user, who may take their time
		w.calls[ev.CallID] = true
	case agent.Returned:
		delete(w.calls, ev.Outcome.CallID)
	case agent.Requesting:
		w.wait(w.first, "its model did not start to answer")
		return
	case agent.Streamed:
		if _, retry := ev.Event.(model.Retry); retry {
			return // the model's server is not there: that is no life sign
		}
	case agent.Retrying:
		return
	}
	if len(w.calls) > 0 {
		w.timer.Stop()
		return
	}
	w.wait(w.idle, "its model stopped answering")
}

// wait begins to count again.
func (w *watchdog) wait(d time.Duration, what string) {
	if w.timer != nil {
		w.timer.Stop()
	}
	w.timer = time.AfterFunc(d, func() { w.bark(&stalledError{fmt.Sprintf("%s for %s", what, d)}) })
}

func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
}

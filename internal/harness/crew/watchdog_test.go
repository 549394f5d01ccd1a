package crew

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
)

// TestWhenTheWatchdogBarks lets time pass after what an agent does.
func TestWhenTheWatchdogBarks(t *testing.T) {
	const first, idle = 3 * time.Minute, 5 * time.Minute
	executing := agent.Called{Event: sched.Event{CallID: "c1", State: sched.Executing}}
	for name, c := range map[string]struct {
		events []agent.Event
		want   time.Duration // 0: never
	}{
		"it does nothing":                          {nil, idle},
		"its model does not begin":                 {[]agent.Event{agent.Requesting{}}, first},
		"its model falls silent":                   {[]agent.Event{agent.Requesting{}, agent.Streamed{Event: model.Start{}}}, idle},
		"a retry is no sign of life":               {[]agent.Event{agent.Requesting{}, agent.Streamed{Event: model.Retry{}}, agent.Retrying{}}, first},
		"a call that runs has limits of its own":   {[]agent.Event{executing}, 0},
		"a call that waits for a person may wait":  {[]agent.Event{agent.Waiting{CallID: "c1"}}, 0},
		"after a call it must go on":               {[]agent.Event{executing, agent.Called{Event: sched.Event{CallID: "c1", State: sched.Completed}}}, idle},
		"after a denied call it must go on":        {[]agent.Event{agent.Waiting{CallID: "c1"}, agent.Returned{Outcome: &sched.Outcome{CallID: "c1"}}}, idle},
		"one of two calls that still runs is life": {[]agent.Event{executing, agent.Waiting{CallID: "c2"}, agent.Returned{Outcome: &sched.Outcome{CallID: "c2"}}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var after time.Duration
				w := newWatchdog(first, idle, func(error) { after = time.Since(began) })
				defer w.stop()
				for _, ev := range c.events {
					w.see(ev)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if after != c.want {
					t.Errorf("it barked after %s, want %s", after, c.want)
				}
			})
		})
	}
}

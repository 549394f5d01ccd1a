package harness_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model/script"
)

// A manualClock stands until it is moved.
type manualClock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*manualTimer
}

type manualTimer struct {
	at   time.Time
	call func()
}

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manualClock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	timer := &manualTimer{c.now.Add(d), f}
	c.timers = append(c.timers, timer)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		stopped := timer.call != nil
		timer.call = nil
		return stopped
	}
}

// advance moves the clock in small steps, and calls what is due at each.
func (c *manualClock) advance(d time.Duration) {
	for end := c.Now().Add(d); c.Now().Before(end); {
		c.mu.Lock()
		c.now = c.now.Add(10 * time.Second)
		var due []func()
		for _, timer := range c.timers {
			if timer.call != nil && !timer.at.After(c.now) {
				due = append(due, timer.call)
				timer.call = nil
			}
		}
		c.mu.Unlock()
		for _, call := range due {
			call()
		}
	}
}

// run takes up what waits.
func (r *rig) run(c *harness.Conversation) (last agent.Result) {
	r.t.Helper()
	for ev, err := range c.Run(r.t.Context()) {
		if err != nil {
			r.t.Fatal(err)
		}
		if res, ok := ev.(agent.Result); ok {
			last = res
		}
	}
	return last
}

// TestAConversationWakesUp, while it lives and after it was resumed.
func TestAConversationWakesUp(t *testing.T) {
	r := newRig(t,
		script.Turn{Blocks: []script.Block{call("ToolSearch", `{"query":"select:ScheduleWakeup,CronCreate"}`)}},
		script.Turn{Blocks: []script.Block{call("ScheduleWakeup", `{"delaySeconds":600,"reason":"It deploys.","prompt":"Look at the deployment."}`)}},
		says("until later"),
		script.Turn{Blocks: []script.Block{call("CronCreate", `{"cron":"0 9 * * *","prompt":"Say good morning."}`)}},
		says("deployed"),
		says("good morning"),
	)
	clock := &manualClock{now: time.Date(2026, 5, 4, 12, 0, 0, 0, time.Local)}
	c := r.talk(harness.Options{}, harness.TalkOptions{Clock: clock})
	id := c.Agent.Session()
	if _, last := r.say(c, "begin"); last.Text != "until later" {
		t.Fatalf("%+v", last)
	}
	clock.advance(590 * time.Second)
	if n := len(c.Agent.Queued()); n != 0 {
		t.Fatalf("%d prompts wait too early", n)
	}
	clock.advance(20 * time.Second)
	if last := r.run(c); last.Text != "deployed" {
		t.Fatalf("%+v", last)
	}
	if body := string(r.server.Requests()[3].Body); !strings.Contains(body, `the user did not type it. Your reason was: It deploys.`) || !strings.Contains(body, "Look at the deployment.") {
		t.Errorf("the prompt is not in the request: %s", body[max(0, len(body)-800):])
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	clock.advance(48 * time.Hour) // nobody is there
	c = r.talk(harness.Options{}, harness.TalkOptions{Clock: clock, Resume: id})
	defer c.Close(t.Context())
	if n := len(c.Agent.Queued()); n != 1 {
		t.Fatalf("%d prompts wait after the resume", n)
	}
	if last := r.run(c); last.Text != "good morning" {
		t.Errorf("%+v", last)
	}
	clock.advance(72 * time.Hour)
	if n := len(c.Agent.Queued()); n != 1 {
		t.Errorf("%d prompts of the same job wait", n)
	}
}

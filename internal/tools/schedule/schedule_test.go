package schedule_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/haftdev/haft/internal/tools/schedule"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
)

// A rig is a schedule and what it has done.
type rig struct {
	s     *schedule.Schedule
	set   *tool.Set
	mu    sync.Mutex
	fired []string
	kept  []schedule.Job
}

func newRig(t testing.TB, jobs ...schedule.Job) *rig {
	r := new(rig)
	r.s = schedule.New(&schedule.Options{
		Jobs: jobs,
		Fire: func(j schedule.Job) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.fired = append(r.fired, j.Prompt)
		},
		Changed: func(jobs []schedule.Job) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.kept = jobs
		},
	})
	r.set = tool.NewSet(&tool.Session{}, r.s.Tools(), nil, nil)
	t.Cleanup(r.s.Close)
	return r
}

func (r *rig) call(t testing.TB, name, input string) (tool.Result, error) {
	t.Helper()
	x := r.set.Lookup(name)
	fixed, _, err := r.set.View(x).Check([]byte(input))
	if err != nil {
		t.Fatal(err)
	}
	c := &tool.Call{Tool: name, Input: fixed, Session: r.set.Session(), Tools: r.set}
	if x.Validate != nil {
		if p := x.Validate(t.Context(), c); p != nil {
			return tool.Result{}, tool.Errorf("%s", p.Message)
		}
	}
	return x.Run(t.Context(), c)
}

func (r *rig) do(t testing.TB, name, input string) string {
	t.Helper()
	result, err := r.call(t, name, input)
	if err != nil {
		t.Fatalf("%s %s: %v", name, input, err)
	}
	return result.Text()
}

func (r *rig) happened() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.fired, ",")
}

func TestConformance(t *testing.T) {
	r := newRig(t)
	r.s.Start()
	reset := func(*testing.T) {
		for _, j := range r.s.Jobs() {
			r.do(t, "CronDelete", `{"id":"`+j.ID+`"}`)
		}
	}
	for name, valid := range map[string][]string{
		"ScheduleWakeup": {`{"delaySeconds":1200,"reason":"It takes a while.","prompt":"look"}`, `{"stop":true}`},
		"CronCreate":     {`{"cron":"*/5 * * * *","prompt":"look"}`, `{"cron":"0 9 1 1 *","prompt":"look","recurring":false,"durable":true}`},
		"CronList":       {`{}`},
	} {
		t.Run(name, func(t *testing.T) {
			tooltest.Run(t, tooltest.Subject{Tool: *r.set.Lookup(name), Session: r.set.Session(), Tools: r.set, Valid: valid, Reset: reset})
		})
	}
	t.Run("CronDelete", func(t *testing.T) {
		kept := schedule.Job{ID: "1a2b3c4d", Cron: "* * * * *", Prompt: "x", Next: time.Now().Add(time.Hour)}
		set := tool.NewSet(&tool.Session{}, schedule.New(nil).Tools(), nil, nil)
		x := *set.Lookup("CronDelete")
		x.Run = func(ctx context.Context, c *tool.Call) (tool.Result, error) { // there is one job each time
			one := tool.NewSet(nil, schedule.New(&schedule.Options{Jobs: []schedule.Job{kept}}).Tools(), nil, nil)
			return one.Lookup("CronDelete").Run(ctx, c)
		}
		tooltest.Run(t, tooltest.Subject{Tool: x, Session: set.Session(), Tools: set, Valid: []string{`{"id":"1a2b3c4d"}`}})
	})
}

func TestAWakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.s.Start()
		if got := r.do(t, "ScheduleWakeup", `{"delaySeconds":10,"prompt":"first"}`); !strings.Contains(got, "(in 60 s). delaySeconds was set to 60: it must be from 60 to 3600.") {
			t.Error(got)
		}
		r.do(t, "ScheduleWakeup", `{"delaySeconds":600,"prompt":"second","noop":false}`) // replaces the first
		time.Sleep(599 * time.Second)
		synctest.Wait()
		if r.happened() != "" {
			t.Errorf("too early: %s", r.happened())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if r.happened() != "second" || len(r.kept) != 0 {
			t.Errorf("%s happened, %v is kept", r.happened(), r.kept)
		}
		r.do(t, "ScheduleWakeup", `{"delaySeconds":60,"prompt":"third"}`)
		if got := r.do(t, "ScheduleWakeup", `{"stop":true}`); got != "The wake-up was cancelled." {
			t.Error(got)
		}
		if got := r.do(t, "ScheduleWakeup", `{"stop":true}`); got != "No wake-up was set." {
			t.Error(got)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if r.happened() != "second" {
			t.Errorf("%s happened", r.happened())
		}
	})
}

func TestJobsComeAgainForAWeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it begins at midnight, UTC
		r := newRig(t)
		r.s.Start()
		r.do(t, "CronCreate", `{"cron":"30 6 * * *","prompt":"daily"}`)
		r.do(t, "CronCreate", `{"cron":"15 1 * * *","prompt":"once","recurring":false}`)
		if got := r.do(t, "CronList", `{}`); strings.Count(got, "\n") != 1 || !strings.Contains(got, "every day at 6:30, next at 2000-01-01 06:30:00: daily") {
			t.Error(got)
		}
		time.Sleep(48 * time.Hour)
		synctest.Wait()
		if r.happened() != "once,daily,daily" {
			t.Errorf("%s happened", r.happened())
		}
		time.Sleep(30 * 24 * time.Hour)
		synctest.Wait()
		if n := strings.Count(r.happened(), "daily"); n != 8 || len(r.s.Jobs()) != 0 {
			t.Errorf("it happened %d times, %v is left", n, r.s.Jobs())
		}
	})
}

// TestWhatWasMissedHappensOnce: a resumed session has its jobs, and hears of each once.
func TestWhatWasMissedHappensOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := newRig(t)
		before.s.Start()
		before.do(t, "ScheduleWakeup", `{"delaySeconds":600,"prompt":"wake"}`)
		before.do(t, "CronCreate", `{"cron":"*/10 * * * *","prompt":"again"}`)
		before.do(t, "CronCreate", `{"cron":"0 23 * * *","prompt":"tonight","recurring":false}`)
		raw, err := json.Marshal(before.kept)
		if err != nil {
			t.Fatal(err)
		}
		before.s.Close()
		time.Sleep(5 * time.Hour)
		var jobs []schedule.Job
		if err := json.Unmarshal(raw, &jobs); err != nil {
			t.Fatal(err)
		}
		after := newRig(t, jobs...)
		synctest.Wait()
		if after.happened() != "" {
			t.Error("something happens before Start")
		}
		after.s.Start()
		synctest.Wait()
		if got := strings.Split(after.happened(), ","); len(got) != 2 || !slices.Contains(got, "wake") || !slices.Contains(got, "again") {
			t.Errorf("%s happened", got)
		}
		if left := after.s.Jobs(); len(left) != 2 || left[0].Prompt != "again" || left[0].Next.Minute() != 10 {
			t.Errorf("left: %+v", left)
		}
		if before.happened() != "" {
			t.Errorf("a closed schedule has done %s", before.happened())
		}
	})
}

func TestWhatIsRefused(t *testing.T) {
	r := newRig(t)
	if _, err := r.call(t, "CronCreate", `{"cron":"0 1 1 1 *","prompt":"x"}`); err == nil || !strings.Contains(err.Error(), "There is no conversation here") {
		t.Errorf("outside of a conversation: %v", err)
	}
	r.s.Start()
	for _, tt := range []struct{ name, input, want string }{
		{"ScheduleWakeup", `{}`, "delaySeconds and prompt are required"},
		{"ScheduleWakeup", `{"delaySeconds":60}`, "delaySeconds and prompt are required"},
		{"CronCreate", `{"cron":"* * * *","prompt":"x"}`, "has 4 fields instead of 5"},
		{"CronCreate", `{"cron":"61 * * * *","prompt":"x"}`, `minute "61"`},
		{"CronCreate", `{"cron":"5-1 * * * *","prompt":"x"}`, "5 is after 1"},
		{"CronCreate", `{"cron":"*/0 * * * *","prompt":"x"}`, "a step must be 1 or more"},
		{"CronCreate", `{"cron":"0 0 30 2 *","prompt":"x"}`, "that time never occurs"},
		{"CronDelete", `{"id":"none"}`, `There is no job with the id "none". CronList shows`},
	} {
		if _, err := r.call(t, tt.name, tt.input); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %s: %v", tt.name, tt.input, err)
		}
	}
	for n := range 50 {
		r.do(t, "CronCreate", fmt.Sprintf(`{"cron":"%d 0 1 1 *","prompt":"x"}`, n))
	}
	if _, err := r.call(t, "CronCreate", `{"cron":"0 1 1 1 *","prompt":"x"}`); err == nil || !strings.Contains(err.Error(), "There are already 50 jobs") {
		t.Errorf("got %v", err)
	}
	x := r.set.Lookup("CronCreate")
	if p := x.Validate(t.Context(), &tool.Call{Tool: "CronCreate", Agent: "a1", Input: []byte(`{"cron":"0 1 1 1 *","prompt":"x"}`)}); p == nil || !strings.Contains(p.Message, "main conversation") {
		t.Errorf("an agent: %v", p)
	}
}

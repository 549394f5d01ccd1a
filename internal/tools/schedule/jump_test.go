package schedule_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/haftdev/haft/internal/tools/schedule"
)

// A jumpingClock can be set, as that of a machine can. Its times say nothing but what the clock on the wall
// says, as those of a session that was resumed do.
type jumpingClock struct{ off atomic.Int64 }

func (c *jumpingClock) Now() time.Time {
	return time.Now().Round(0).Add(time.Duration(c.off.Load()))
}

func (c *jumpingClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}

func (c *jumpingClock) jump(d time.Duration) { c.off.Add(int64(d)) }

// Whatever the clock does, a job comes when it says so, once, and none is lost.
func TestTheClockIsSet(t *testing.T) {
	for name, c := range map[string]struct {
		jump   time.Duration
		within time.Duration // real time until the one that comes once, due in an hour
		every  int           // how often one of every ten minutes comes in that time
	}{
		"forward, past a job":   {3 * time.Hour, time.Minute, 1},
		"forward, before a job": {30 * time.Minute, 30 * time.Minute, 4},
		"back":                  {-2 * time.Hour, 3 * time.Hour, 18},
		"back by a day":         {-24 * time.Hour, 25 * time.Hour, 150},
		"not at all":            {0, time.Hour, 6},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := new(jumpingClock)
				var mu sync.Mutex // jobs come from goroutines of timers
				came := map[string]int{}
				count := func(prompt string) int {
					mu.Lock()
					defer mu.Unlock()
					return came[prompt]
				}
				s := schedule.New(&schedule.Options{
					Clock: clock,
					Fire: func(j schedule.Job) {
						mu.Lock()
						defer mu.Unlock()
						came[j.Prompt]++
					},
					Jobs: []schedule.Job{
						{ID: "1", Prompt: "once", Created: clock.Now(), Next: clock.Now().Add(time.Hour)},
						{ID: "2", Prompt: "often", Cron: "*/10 * * * *", Recurring: true, Created: clock.Now(), Next: clock.Now().Truncate(10 * time.Minute).Add(10 * time.Minute)},
					},
				})
				defer s.Close()
				s.Start()
				clock.jump(c.jump)
				time.Sleep(c.within - time.Second)
				synctest.Wait()
				if c.within > time.Minute && count("once") != 0 {
					t.Error("the job came before its time")
				}
				time.Sleep(time.Minute + time.Second)
				synctest.Wait()
				if count("once") != 1 {
					t.Errorf("the job came %d times", count("once"))
				}
				if got := count("often"); got < c.every-1 || got > c.every+1 {
					t.Errorf("the job of every ten minutes came %d times, want about %d", got, c.every)
				}
				if left := s.Jobs(); len(left) != 1 || left[0].Next.Sub(clock.Now()) > 10*time.Minute {
					t.Errorf("left: %+v at %v", left, clock.Now())
				}
			})
		})
	}
}

package schedule

import (
	"testing"
	"time"
)

func TestNext(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	const form = "2006-01-02 15:04"
	for _, tt := range []struct{ cron, after, want string }{
		{"* * * * *", "2026-03-01 10:00", "2026-03-01 10:01"},
		{"*/15 9-17 * * 1-5", "2026-03-06 17:50", "2026-03-09 09:00"},
		{"0 0 29 2 *", "2026-03-01 00:00", "2028-02-29 00:00"},
		{"30 4 1,15 * 5", "2026-03-02 00:00", "2026-03-06 04:30"}, // the 15th or a Friday
		{"5 4 * * sun", "2026-03-02 00:00", "2026-03-08 04:05"},
		{"5 4 * * 7", "2026-03-02 00:00", "2026-03-08 04:05"},
		{"0 12 * jan-feb mon", "2026-03-02 00:00", "2027-01-04 12:00"},
		{"30 2 * * *", "2026-03-28 12:00", "2026-03-30 02:30"}, // the 29th has no such time
		{"30 2 * * *", "2026-10-24 12:00", "2026-10-25 02:30"},
		{"7/20 * * * *", "2026-03-01 10:08", "2026-03-01 10:27"},
		{"59 23 31 12 *", "2026-12-31 23:59", "2027-12-31 23:59"},
	} {
		c, err := parse(tt.cron)
		if err != nil {
			t.Fatal(err)
		}
		after, err := time.ParseInLocation(form, tt.after, berlin)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.next(after).Format(form); got != tt.want {
			t.Errorf("%s after %s: %s, want %s", tt.cron, tt.after, got, tt.want)
		}
	}
}

// FuzzCron: whatever is written, reading it ends, and what comes next is later.
func FuzzCron(f *testing.F) {
	for _, seed := range []string{"* * * * *", "*/5 1-2,3 * jan mon", "0 0 30 2 *", "99999999999999999999 * * * *", "1-/ * * * *", "*/999 0 1 1 0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parse(text)
		if err != nil {
			return
		}
		human(text)
		now := time.Date(2026, 3, 1, 1, 2, 3, 4, time.UTC)
		if next := c.next(now); !next.IsZero() && !next.After(now) {
			t.Errorf("%q: %v", text, next)
		}
	})
}

func TestStepsThatDoNotDivideTheHourAreNotCalledEvery(t *testing.T) {
	for text, want := range map[string]string{"*/15 * * * *": "every 15 minutes", "*/1 * * * *": "every minute", "*/45 * * * *": "*/45 * * * *"} {
		if got := human(text); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}

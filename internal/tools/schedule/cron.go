package schedule

import "time"

// A cron is a time that comes again, written in five fields: minute, hour, day of the
// month, month and day of the week.
type cron struct {
	minute, hour, day, month, weekday uint64 // a bit for each number
	anyDay, anyWeekday                bool
}

// next is the first such time after another, in its time zone; zero if there is none
// within five years.
func (c cron) next(after time.Time) time.Time {
	t := after.Truncate(time.Minute).Add(time.Minute)
	for end := after.AddDate(5, 0, 0); t.Before(end); {
		switch {
		case c.month&(1<<int(t.Month())) == 0:
			t = time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, t.Location())
		case !c.onDay(t):
			t = time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, t.Location())
		case c.hour&(1<<t.Hour()) == 0:
			// By the clock and not by the calendar: a day may have an hour less.
			t = t.Add(time.Duration(60-t.Minute()) * time.Minute)
		case c.minute&(1<<t.Minute()) == 0:
			t = t.Add(time.Minute)
		default:
			return t
		}
	}
	return time.Time{}
}

// onDay: if both the day and the weekday are said, either will do.
func (c cron) onDay(t time.Time) bool {
	day, weekday := c.day&(1<<t.Day()) != 0, c.weekday&(1<<int(t.Weekday())) != 0
	if c.anyDay || c.anyWeekday {
		return day && weekday
	}
	return day || weekday
}

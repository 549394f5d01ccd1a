package schedule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A cron is a time that comes again, written in five fields: minute, hour, day of the
// month, month and day of the week.
type cron struct {
	minute, hour, day, month, weekday uint64 // a bit for each number
	anyDay, anyWeekday                bool
}

// fields are the bounds and names of the five.
var fields = []struct {
	name     string
	min, max int
	names    string // of its numbers, from min on
}{
	{"minute", 0, 59, ""}, {"hour", 0, 23, ""}, {"day of the month", 1, 31, ""},
	{"month", 1, 12, "jan feb mar apr may jun jul aug sep oct nov dec"}, {"day of the week", 0, 7, "sun mon tue wed thu fri sat"},
}

// parse reads an expression. One that never comes is refused.
func parse(text string) (c cron, err error) {
	words := strings.Fields(strings.ToLower(text))
	if len(words) != len(fields) {
		return c, fmt.Errorf("%q has %d fields instead of 5: minute, hour, day of the month, month, day of the week", text, len(words))
	}
	var bits [5]uint64
	for i, word := range words {
		if bits[i], err = parseField(word, i); err != nil {
			return c, fmt.Errorf("%s %q: %w", fields[i].name, word, err)
		}
	}
	c = cron{bits[0], bits[1], bits[2], bits[3], bits[4], strings.HasPrefix(words[2], "*"), strings.HasPrefix(words[4], "*")}
	if c.weekday&(1<<7) != 0 { // Sunday is 0 as well
		c.weekday |= 1
	}
	if c.next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return c, errors.New("that time never occurs")
	}
	return c, nil
}

// parseField reads a list of numbers, ranges and steps.
func parseField(word string, i int) (bits uint64, err error) {
	f := fields[i]
	for part := range strings.SplitSeq(word, ",") {
		span, stepText, stepped := strings.Cut(part, "/")
		step := 1
		if stepped {
			if step, err = strconv.Atoi(stepText); err != nil || step < 1 {
				return 0, errors.New("a step must be 1 or more")
			}
		}
		from, to := f.min, f.max
		if span != "*" {
			first, last, ranged := strings.Cut(span, "-")
			if from, err = number(first, i); err != nil {
				return 0, err
			}
			if ranged {
				if to, err = number(last, i); err != nil {
					return 0, err
				}
			} else if !stepped {
				to = from
			}
		}
		if from > to {
			return 0, fmt.Errorf("the range is in reverse order: %d is after %d", from, to)
		}
		for n := from; n <= to; n += step {
			bits |= 1 << n
		}
	}
	return bits, nil
}

func number(text string, i int) (int, error) {
	f := fields[i]
	for n, name := range strings.Fields(f.names) {
		if text == name {
			return f.min + n, nil
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.min || n > f.max {
		return 0, fmt.Errorf("%q is not a number from %d to %d", text, f.min, f.max)
	}
	return n, nil
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

// human says in words when a cron comes, where that is easily said; otherwise it is
// the expression.
func human(text string) string {
	w := strings.Fields(text)
	if len(w) != 5 {
		return text
	}
	minute, errMinute := strconv.Atoi(w[0])
	hour, errHour := strconv.Atoi(w[1])
	rest := strings.Join(w[2:], " ")
	steps, isStep := strings.CutPrefix(w[0], "*/")
	step, _ := strconv.Atoi(steps)
	switch {
	case (w[0] == "*" || isStep && step == 1) && w[1] == "*" && rest == "* * *":
		return "every minute"
	case isStep && step > 1 && step < 60 && 60%step == 0 && w[1] == "*" && rest == "* * *": // others start again with each hour
		return fmt.Sprintf("every %d minutes", step)
	case errMinute == nil && w[1] == "*" && rest == "* * *":
		return fmt.Sprintf("every hour at minute %d", minute)
	case errMinute == nil && errHour == nil && rest == "* * *":
		return fmt.Sprintf("every day at %d:%02d", hour, minute)
	case errMinute == nil && errHour == nil && rest == "* * 1-5":
		return fmt.Sprintf("every weekday at %d:%02d", hour, minute)
	}
	return text
}

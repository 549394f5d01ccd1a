package tui

import (
	"regexp"
	"time"
)

// stopped are the beginnings of what the model reads of a call that was stopped, or that ran
// when its session ended.
var stopped = regexp.MustCompile(`^(Cancelled (before|while) it ran|The command was interrupted and stopped|\[[\w-]+ (was interrupted|never ran): the session ended)`)

// A turnBack is a message that the person can go back to before.
type turnBack struct {
	uuid   string // of the message
	before string // of the one before it; "" if there is none
	text   string
	when   time.Time
}

package runs

import (
	"crypto/sha256"
	"fmt"
)

// A Schedule submits a new run again and again. The engine keeps the time; what was missed
// while it was away is made up for once.
type Schedule struct {
	Name string `json:"name"`
	// Cron is when: minute, hour, day of the month, month, day of the week; or "@every 1h".
	Cron string `json:"cron"`
	// Zone is the time zone, such as Europe/Berlin; "" means UTC.
	Zone       string     `json:"zone,omitempty"`
	Submission Submission `json:"submission"`
}

// Headers of the engine's schedules.
const (
	headSchedule = "Nats-Schedule"
	headZone     = "Nats-Schedule-Time-Zone"
	headTarget   = "Nats-Schedule-Target"
)

// uuidOf is the UUID that belongs to a text.
func uuidOf(text string) string {
	h := sha256.Sum256([]byte(text))
	h[6], h[8] = h[6]&0x0f|0x80, h[8]&0x3f|0x80 // version 8, of one's own making
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

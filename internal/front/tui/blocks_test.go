package tui

import (
	"testing"
	"time"
)

func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		1234 * time.Millisecond: "1.2s", 12400 * time.Millisecond: "12s", time.Minute: "1m",
		220 * time.Second: "3m40s", 10 * time.Minute: "10m", 3600 * time.Second: "1h0m", 3661 * time.Second: "1h1m1s",
	} {
		if got := seconds(d); got != want {
			t.Errorf("%v is written %q, want %q", d, got, want)
		}
	}
}

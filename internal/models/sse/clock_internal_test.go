package sse

import (
	"net/http"
	"testing"
	"time"
)

// A time to retry at is told by the server's clock, whatever ours says.
func TestTimesAreThoseOfTheServer(t *testing.T) {
	for _, off := range []time.Duration{-24 * time.Hour, 0, 24 * time.Hour} {
		server := time.Now().Add(off)
		h := http.Header{"Date": {server.UTC().Format(http.TimeFormat)}, "Retry-After": {server.Add(7 * time.Second).UTC().Format(http.TimeFormat)}}
		if got := retryAfter(h); got != 7*time.Second {
			t.Errorf("a clock that is off by %v: %v, want 7s", off, got)
		}
	}
	h := http.Header{"Retry-After": {time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat)}}
	if got := retryAfter(h); got < 60*time.Second || got > 90*time.Second {
		t.Errorf("without the server's time: %v", got)
	}
}

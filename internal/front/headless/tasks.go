package headless

import (
	"sync"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/wire"
)

func taskUsage(k agent.Task) *wire.TaskUsage {
	end := k.Ended
	if end.IsZero() {
		end = time.Now()
	}
	return &wire.TaskUsage{TotalTokens: int(k.Tokens), ToolUses: k.ToolUses, DurationMS: end.Sub(k.Started).Milliseconds()}
}

// heartbeats report long calls, so that a host knows that they are alive.
type heartbeats struct {
	every time.Duration
	beat  func(useID, tool string, n int, elapsed time.Duration)

	mu    sync.Mutex
	stops map[string]func() bool
}

func (h *heartbeats) begin(callID, useID, tool string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	started := time.Now()
	n := 0
	var timer *time.Timer
	timer = time.AfterFunc(h.every, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if _, runs := h.stops[callID]; !runs {
			return
		}
		h.beat(useID, tool, n, time.Since(started))
		n++
		timer.Reset(h.every)
	})
	h.stops[callID] = timer.Stop
}

func (h *heartbeats) end(callID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if stop, ok := h.stops[callID]; ok {
		stop()
		delete(h.stops, callID)
	}
}

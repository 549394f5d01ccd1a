package mcp_test

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/world/mcp"
)

// TestNothingIsLeftAfterManyConnections makes a thousand of each kind with
// HAFT_TORTURE, and a few without.
func TestNothingIsLeftAfterManyConnections(t *testing.T) {
	times := 30
	if os.Getenv("HAFT_TORTURE") != "" {
		times = 1000
	}
	c := &calculator{tools: addTool}
	server := newBadHTTP(t, "good")
	connect := func(times int) {
		for range times {
			h := mcp.NewHost(&mcp.Options{Send: c.send, Runner: runner()})
			h.Start([]mcp.Server{{Name: "a", Type: mcp.SDK}, {Name: "b", Type: mcp.HTTP, URL: server.URL}, badEntry("good")})
			wait(t, h)
			h.Close()
		}
	}
	connect(2)
	server.CloseClientConnections()
	goroutines, files := settled(), openFiles(t)
	connect(times)
	server.CloseClientConnections()
	if now := settled(); now > goroutines+5 {
		t.Errorf("%d goroutines, %d before", now, goroutines)
	}
	if now := openFiles(t); now > files+3 {
		t.Errorf("%d open files, %d before", now, files)
	}
}

// settled counts goroutines once their number stays the same.
func settled() int {
	before := -1
	for range 50 {
		now := runtime.NumGoroutine()
		if now == before {
			return now
		}
		before = now
		time.Sleep(50 * time.Millisecond)
	}
	return before
}

func openFiles(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc here")
	}
	return len(entries)
}

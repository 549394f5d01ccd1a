package cli

import (
	"os"
	"runtime"
	"runtime/debug"
)

// delayFirstGC delays the first garbage collection until the heap has twice the size at
// which it would happen. What haft needs to start fits in there, and a collection just
// before the first request is the longest wait of a start. After that, the collector works
// as usual. A user's GOGC takes precedence.
func delayFirstGC() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(200)
	first := new([64]byte) // is collected the first time that anything is
	runtime.AddCleanup(first, func(percent int) { debug.SetGCPercent(percent) }, usual)
}

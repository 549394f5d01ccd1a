package cli

import (
	"os"
	"runtime"
	"runtime/debug"
)

// delayFirstGC puts the first garbage collection off until the heap has twice
// the size at which it would come: what haft needs to begin fits in there, and a
// collection just before the first request is the longest wait of a start. From
// then on the collector works as always. A user's GOGC counts.
func delayFirstGC() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(200)
	first := new([64]byte) // is collected the first time that anything is
	runtime.AddCleanup(first, func(percent int) { debug.SetGCPercent(percent) }, usual)
}

//go:build !race

package shell

import (
	"runtime"
	"strings"
	"testing"
)

// A command that is far too long to be parsed takes memory and time in proportion.
func TestALongCommandTakesLittleMemory(t *testing.T) {
	for name, command := range map[string]string{
		"words": "echo " + strings.Repeat("a b ", 500_000), "commands": strings.Repeat("a;b\n", 500_000), "one word": strings.Repeat("x", 2_000_000), "quotes": strings.Repeat("'\\\"$", 500_000),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a := Analyze(command+"\nrm -rf /", &Options{Cwd: "/p", Home: "/h"})
		runtime.ReadMemStats(&after)
		if a.ReadOnly || a.Exact || a.Unseen == "" || a.Critical == "" {
			t.Errorf("%s: it is taken for harmless", name)
		}
		if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > 600 {
			t.Errorf("%s: it takes %d MB", name, got)
		}
	}
}

package toolcheck

import (
	"runtime"
	"strings"
	"time"
)

// A goroutineWatch knows the goroutines there were, by the heads of their stacks. Nil knows nothing
// and finds nothing.
type goroutineWatch map[string]bool

// check waits a moment for goroutines that are about to end.
func (w goroutineWatch) check(t T, in string) {
	t.Helper()
	if w == nil {
		return
	}
	deadline := time.Now().Add(cancelPatience)
	for {
		var left []string
		for id, stack := range goroutines() {
			if !w[id] {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("input %s: goroutines are left running:\n%s", in, strings.Join(left, "\n\n"))
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// goroutines returns the stacks of all goroutines by their "goroutine N".
func goroutines() map[string]string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	all := make(map[string]string)
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		id, _, _ := strings.Cut(stack, " [")
		all[id] = stack
	}
	return all
}

package hook

import (
	"fmt"
	"slices"
	"sync"

	"github.com/haftdev/haft/tool"
)

// failures are notes for the model about hooks that failed without blocking: what they
// should have checked or added is missing, and the model may have counted on it.
type failures struct {
	mu     sync.Mutex
	told   map[*prepared]bool
	untold []string
}

// toldAbout are the events whose notes reach the model.
var toldAbout = []Event{"PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "UserPromptSubmit", "SessionStart", "SubagentStart"}

// add notes the hooks that have failed for the first time.
func (f *failures) add(tasks []*task, about string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range tasks {
		if t.hook.Async || !t.run.Failed() || t.run.InCode || t.run.Behavior == tool.Deny || f.told[t.hook] {
			continue
		}
		if f.told == nil {
			f.told = make(map[*prepared]bool)
		}
		f.told[t.hook] = true
		f.untold = append(f.untold, fmt.Sprintf("The %s hook %s failed, so work continues without what it checks or adds: %s. You are not told again if it fails again.", about, t.run.ShortName(), t.run.Err))
	}
}

// take returns the notes that an event can deliver, each once.
func (f *failures) take(event Event) []string {
	if !slices.Contains(toldAbout, event) {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	notes := f.untold
	f.untold = nil
	return notes
}

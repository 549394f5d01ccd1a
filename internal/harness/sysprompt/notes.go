package sysprompt

import (
	"context"
	"slices"
	"sync"
)

// Notes are what the model is told at the next opportunity, each once, because something
// happened beside the conversation. They are safe for concurrent use.
type Notes struct {
	save func([]string)

	mu      sync.Mutex
	waiting []string
}

// NewNotes returns notes that begin with those waiting, and gives save what waits whenever
// that changes.
func NewNotes(waiting []string, save func([]string)) *Notes {
	return &Notes{waiting: waiting, save: save}
}

// Add adds a note; "" is not one.
func (n *Notes) Add(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if text != "" {
		n.waiting = append(n.waiting, text)
		n.save(n.waiting)
	}
}

// Tell is the reminder.
func (n *Notes) Tell(context.Context, bool) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	texts := slices.Clone(n.waiting)
	if n.waiting = nil; texts != nil {
		n.save([]string{})
	}
	return texts
}

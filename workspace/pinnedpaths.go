package workspace

import (
	"sync"

	"github.com/haftdev/haft/internal/workspace/guard"
)

// pins remember where the paths of calls led when they were judged, so that a link swapped between the verdict and the work is
// noticed.
type pins struct {
	mu    sync.Mutex
	real  map[pin]string
	order []pin // oldest first
}

type pin struct{ call, path string }

// maxPins bounds what is remembered: calls that were judged and never ran.
const maxPins = 1024

// Pin remembers where a path leads for a call that is being judged.
func (w *Workspace) Pin(call string, f guard.Facts) {
	w.pins.mu.Lock()
	defer w.pins.mu.Unlock()
	if w.pins.real == nil {
		w.pins.real = map[pin]string{}
	}
	k := pin{call, f.Path}
	if _, ok := w.pins.real[k]; !ok {
		w.pins.order = append(w.pins.order, k)
	}
	w.pins.real[k] = f.Real
	if len(w.pins.order) > maxPins {
		delete(w.pins.real, w.pins.order[0])
		w.pins.order = w.pins.order[1:]
	}
}

// LookPinned looks at a path for a call that is about to run, and refuses it if the path now
// leads somewhere else than when the call was judged.
func (w *Workspace) LookPinned(call, path string) (guard.Facts, error) {
	f := w.Look(path)
	w.pins.mu.Lock()
	defer w.pins.mu.Unlock()
	if was, ok := w.pins.real[pin{call, f.Path}]; ok && was != f.Real {
		return f, refuse(Swapped, "%s led to %s when this call was permitted and now leads to %s. Nothing was read or written. Check the path before you try again.", f.Path, was, f.Real)
	}
	return f, nil
}

package workspace

import (
	"sync"

	"github.com/haftdev/haft/internal/world/workspace/disk"
	"github.com/haftdev/haft/internal/world/workspace/guard"
)

// pins remember where the paths of calls led when they were judged, so that a link swapped between the verdict and the work is
// noticed.
type pins struct {
	mu    sync.Mutex
	facts map[pin]*guard.Facts
	order []pin // oldest first
}

type pin struct{ call, path string }

// maxPins bounds what is remembered: calls that were judged and never ran.
const maxPins = 1024

// Pin remembers where a path leads for a call that is being judged.
func (w *Workspace) Pin(call string, f guard.Facts) {
	w.pins.mu.Lock()
	defer w.pins.mu.Unlock()
	if w.pins.facts == nil {
		w.pins.facts = map[pin]*guard.Facts{}
	}
	k := pin{call, f.Given} // what f.Path is depends on the links
	if _, ok := w.pins.facts[k]; !ok {
		w.pins.order = append(w.pins.order, k)
	}
	w.pins.facts[k] = &f
	if len(w.pins.order) > maxPins {
		delete(w.pins.facts, w.pins.order[0])
		w.pins.order = w.pins.order[1:]
	}
}

// LookPinned looks at a path for a call that is about to run, and refuses it if the path now
// leads somewhere else than when the call was judged.
func (w *Workspace) LookPinned(call, path string) (guard.Facts, error) {
	f := w.Look(path)
	if was := w.pinned(call, path); was != nil && was.Real != f.Real {
		return f, refuse(Swapped, "%s led to %s when this call was allowed and now leads to %s. Nothing was read or written. Check the path before you try again.", f.Path, was.Real, f.Real)
	}
	return f, nil
}

// StreamPinned is LookPinned and [Workspace.Stream]. A path that was judged and had no links is opened without another look:
// the kernel refuses a link that has appeared since, and then there is another look, which tells.
func (w *Workspace) StreamPinned(call, path, param string) (guard.Facts, disk.File, disk.Info, error) {
	if f, file, info, ok := w.openJudged(call, path); ok {
		return f, file, info, nil
	}
	f, err := w.LookPinned(call, path)
	if err == nil {
		err = w.CheckPath(f, param)
	}
	if err != nil {
		return f, nil, disk.Info{}, err
	}
	file, info, err := w.stream(f)
	return f, file, info, err
}

// openJudged opens what a call was judged by, if that is still a file without links.
func (w *Workspace) openJudged(call, path string) (f guard.Facts, file disk.File, info disk.Info, ok bool) {
	fs, can := w.fs.(interface {
		OpenDirect(path string) (disk.File, bool)
	})
	was := w.pinned(call, path)
	if !can || was == nil || !was.Direct() {
		return f, nil, info, false
	}
	if file, ok = fs.OpenDirect(path); !ok {
		return f, nil, info, false
	}
	info, err := file.Stat()
	if err != nil || !info.Mode.IsRegular() {
		file.Close()
		return f, nil, info, false
	}
	f = *was
	f.Info = info
	return f, file, info, true
}

func (w *Workspace) pinned(call, path string) *guard.Facts {
	w.pins.mu.Lock()
	defer w.pins.mu.Unlock()
	return w.pins.facts[pin{call, path}]
}

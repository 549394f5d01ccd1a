package workspace

import (
	"sync"

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

package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/text/visible"
)

// background tracks the background work of a conversation, by id.
type background map[string]agent.Task

func (b background) follow(ev agent.Event) {
	change, ok := ev.(agent.TaskChanged)
	switch {
	case !ok:
	case change.Task.Background && change.Task.Status == "running":
		b[change.Task.ID] = change.Task
	default:
		delete(b, change.Task.ID)
	}
}

// tell says what ended only because the answer was there.
func (b background) tell(w io.Writer) {
	for _, id := range slices.Sorted(maps.Keys(b)) {
		fmt.Fprintf(w, "note: the session ended with the answer while this was still running in the background: %s\n", visible.Indented(oneLine(b[id].Description)))
	}
}

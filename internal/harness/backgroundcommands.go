package harness

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/haftdev/haft/internal/harness/link"
	"github.com/haftdev/haft/internal/text/shorten"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// running are the commands in the background. The journal lists them while they run: they
// end with the process, however it ends, and the next process tells the model.
type running struct {
	link *link.Link

	mu       sync.Mutex
	commands []runningCommand
	closed   bool // what ends now ends with the session
}

// A runningCommand is one of them, as the journal keeps it.
type runningCommand struct {
	ID          string `json:"id"`
	Agent       string `json:"agent,omitempty"`
	Command     string `json:"command"`
	Description string `json:"description,omitempty"`
	Output      string `json:"output,omitempty"` // the file
}

func (r *running) began(t *shellrun.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commands = append(r.commands, runningCommand{ID: t.ID(), Agent: t.Owner(), Command: t.Command(), Description: t.Description(), Output: t.Output().Path()})
	r.link.Save(stateCommands, r.commands)
}

func (r *running) ended(t *shellrun.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.commands, func(c runningCommand) bool { return c.ID == t.ID() })
	if at < 0 || r.closed {
		return
	}
	r.commands = slices.Delete(r.commands, at, at+1)
	r.link.Save(stateCommands, r.commands)
}

// close notes that the session ends now.
func (r *running) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

// now are the commands that run.
func (r *running) now() []runningCommand {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.commands)
}

// maxListed is how many commands are named, maxCommand how much of each.
const (
	maxListed  = 20
	maxCommand = 200
)

func listed(commands []runningCommand) string {
	var b strings.Builder
	for i, c := range commands {
		if i == maxListed {
			fmt.Fprintf(&b, "\n- and %d more", len(commands)-i)
			break
		}
		fmt.Fprintf(&b, "\n- %s: %s", c.ID, shorten.Line(c.Command, maxCommand))
		if _, err := os.Stat(c.Output); err == nil {
			fmt.Fprintf(&b, " (output so far: %s)", c.Output)
		}
	}
	return b.String()
}

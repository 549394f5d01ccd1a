package harness

import (
	"encoding/json"
	"strings"

	"github.com/haftdev/haft/internal/world/workspace/readstate"
	"github.com/haftdev/haft/session"
)

// stateReads is followed by the agent, a blank and the path: what the agent knows of the
// file. It tells a resumed session which files it does not have to read again.
const stateReads = "read:"

// maxRecalled limits the contents that are loaded when a session is resumed.
const maxRecalled = 16 << 20

// recallReads restores what the agents of a resumed session knew. Whether a file has
// changed is checked by its hash when it is edited; unchanged content is loaded as the base
// of merges.
func (w *World) recallReads(r *session.Restored) {
	room := int64(maxRecalled)
	for name, raw := range r.States {
		about, ok := strings.CutPrefix(name, stateReads)
		agent, path, _ := strings.Cut(about, " ")
		var e readstate.Entry
		if !ok || json.Unmarshal(raw, &e) != nil || e.Path != path || e.Hash == "" {
			continue
		}
		if facts := w.Files.Look(path); e.Size <= room && facts.Exists && facts.Info.Size == e.Size {
			if f, err := w.Files.Load(facts); err == nil && f.Hash == e.Hash {
				e.Base, room = f.Raw, room-e.Size
			}
		}
		w.Files.Seen(agent).Put(e)
		if agent == "" {
			w.nested.Saw(agent, path)
		}
	}
}

package harness

import (
	"encoding/json"

	"github.com/haftdev/haft/session"
)

// rejected is what programs look for in the error of a resume that would lose too much.
const rejected = "Resume rejected by --resume-drops-turn"

// state is what a resumed session has stored under a name; the zero value if nothing.
func state[T any](r *session.Restored, name string) (v T) {
	_ = json.Unmarshal(r.States[name], &v) // what cannot be read is not known
	return v
}

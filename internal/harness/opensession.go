package harness

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// rejected is what programs look for in the error of a resume that would lose too much.
const rejected = "Resume rejected by --resume-drops-turn"

// spent is the usage of the answers of a session, by the names under which their models
// have prices.
func spent(r *session.Restored) map[string]model.Usage {
	used := make(map[string]model.Usage)
	for name, u := range r.Usage {
		name = cmp.Or(state[string](r, agent.StateAsked+name), name)
		used[name] = used[name].Add(u)
	}
	return used
}

// state is what a resumed session has stored under a name; the zero value if nothing.
func state[T any](r *session.Restored, name string) (v T) {
	_ = json.Unmarshal(r.States[name], &v) // what cannot be read is not known
	return v
}

// waitedText says that commands of an earlier process had to be stopped first, if that took
// a while.
func waitedText(d time.Duration) string {
	if d <= time.Second {
		return ""
	}
	return fmt.Sprintf("Commands from an earlier run of this session were still running. Stopping them took %.1f s.", d.Seconds())
}

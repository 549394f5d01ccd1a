package bash

import (
	"fmt"

	"github.com/haftdev/haft/internal/world/shellrun"
)

// Ending describes how a background command ended, as one word and as a sentence for the
// conversation.
func Ending(task *shellrun.Task) (word, sentence string) {
	r := task.Result()
	what := task.Description()
	if what == "" {
		what = brief(task.Command())
	}
	if r.State == shellrun.TimedOut {
		return status(task), fmt.Sprintf("Background command %q was stopped at its timeout", what)
	}
	return status(task), fmt.Sprintf("Background command %q %s (exit code %d)", what, status(task), r.Status.Code)
}

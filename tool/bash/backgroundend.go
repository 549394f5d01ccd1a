package bash

import (
	"fmt"

	"github.com/haftdev/haft/shellrun"
)

// Ending says how a command in the background has ended, for the conversation to
// be told: as one word and as a sentence.
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

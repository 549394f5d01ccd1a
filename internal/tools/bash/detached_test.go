package bash_test

import (
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// TestACommandThatWentToTheBackgroundIsEnded waits for the end of a command that
// outlived its timeout, at the bound that the model was told.
func TestACommandThatWentToTheBackgroundIsEnded(t *testing.T) {
	r := newRig(t, nil, &bash.Options{Dir: t.TempDir(), Environ: []string{"HAFT_BASH_BACKGROUND_MS=300"}})
	result, err := r.call(t.Context(), "Bash", "", `{"command":"while true; do sleep 0.05; done","timeout":100}`)
	if err != nil || !strings.Contains(result.Text(), "stopped after another 300ms") {
		t.Fatalf("%q, %v", result.Text(), err)
	}
	select {
	case task := <-r.ended:
		if _, text := bash.Ending(task); task.State() != shellrun.TimedOut {
			t.Errorf("it ended as %s: %s", task.State(), text)
		}
	case <-time.After(20 * time.Second):
		t.Error("it does not end")
	}
}

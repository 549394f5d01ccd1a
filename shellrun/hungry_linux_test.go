package shellrun

import (
	"context"
	"strings"
	"testing"
)

// TestCommandsAreEndedBeforeHaft reads what the kernel thinks of a command, and of its
// children, when there is no more memory.
func TestCommandsAreEndedBeforeHaft(t *testing.T) {
	h := NewHost(&Options{Reexec: Supervise(), NoProfile: true})
	defer h.Close()
	task, err := h.NewShell(t.TempDir()).Run(context.Background(), Request{Command: "cat /proc/self/oom_score_adj; cat /proc/$PPID/oom_score_adj"})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(task.Progress().Last)
	if len(got) != 2 || got[0] != "500" || got[1] == "500" {
		t.Errorf("the command and who started it: %q, want 500 and another", got)
	}
}

package shellrun

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/haftdev/haft/sandbox"
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
	if want := scores(t); !slices.Equal(got, want) {
		t.Errorf("the command and who started it: %q, want %q", got, want)
	}
}

// What is confined, and who is not root, has it too.
func TestConfinedCommandsAreEndedBeforeHaft(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		dir := t.TempDir()
		s := newTestHost(t, nil).NewShell(dir)
		want := scores(t)
		for range 2 { // the second one too, whose supervisor has lowered its own again
			if got := text(runBoxed(t, s, &sandbox.Spec{Read: []string{dir}, KeepSignals: true}, "cat /proc/self/oom_score_adj; cat /proc/1/oom_score_adj")); !slices.Equal(strings.Fields(got), want) {
				t.Errorf("the confined command and its supervisor: %q, want %q", got, want)
			}
			if got := text(run(t, s, "cat /proc/self/oom_score_adj")); got != want[0]+"\n" {
				t.Errorf("the free command: %q, want %s", got, want[0])
			}
		}
	})
}

// scores are those of a command and of the process that starts it: a machine may have given this one a high one.
func scores(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		t.Skip(err)
	}
	own := strings.TrimSpace(string(raw))
	if n, err := strconv.Atoi(own); err == nil && n >= 500 {
		return []string{own, own}
	}
	return []string{"500", own}
}

package shellrun

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/world/sandbox"
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
		// The command may be faster than its supervisor, which lowers its score once it has started it.
		lowered := "for i in {1..200}; do read -r s </proc/1/oom_score_adj; [[ $s == " + want[1] + " ]] && break; sleep 0.05; done; echo $s"
		for range 2 { // the second one too, whose supervisor has lowered its own again
			if got := text(runBoxed(t, s, &sandbox.Spec{Read: []string{dir}, KeepSignals: true}, "cat /proc/self/oom_score_adj; "+lowered)); !slices.Equal(strings.Fields(got), want) {
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

// The keeper is expendable only while it starts a process, not while it makes the room for that.
func TestTheKeeperIsNotExpendableWithItsCommands(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "score"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	content := func() string {
		raw, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	var limit unix.Rlimit // a started command wears its tag there
	if err := unix.Prlimit(0, unix.RLIMIT_RTTIME, nil, &limit); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Prlimit(0, unix.RLIMIT_RTTIME, &limit, nil) }()
	k := &keeper{seen: newSightings(nil), rooms: rooms{}, score: &score{file, "007"}}
	r := request{Path: "/dev/null", Args: []string{"true"}, Dir: "/", Expendable: true, files: []int{0, 1, 2}}
	r.Box = json.RawMessage("[]") // no room can be made by it
	if _, err := k.fork(r, &job{}); err == nil || content() != "" {
		t.Errorf("without a room: error %v, score %q", err, content())
	}
	var during string
	if !k.score.raised(func() { during = content() }) || during != expendable || content() != "007" {
		t.Errorf("score %q, and %q after that", during, content())
	}
	r.Box = nil
	if file, err = os.Open(file.Name()); err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	k.score = &score{file, "007"} // which cannot be written
	if _, err := k.fork(r, &job{}); err == nil || k.score != nil {
		t.Errorf("error %v, and a score that cannot be lowered is still in use: %v", err, k.score != nil)
	}
}

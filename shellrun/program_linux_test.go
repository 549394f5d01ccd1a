package shellrun

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/sandbox"
)

// runPlain runs a command with a hardened environment, by its words if it has any.
func runPlain(t testing.TB, s *Shell, box *sandbox.Spec, command string, words ...string) *Task {
	t.Helper()
	task, err := s.Run(t.Context(), Request{Command: command, Timeout: 30 * time.Second, Box: box, Plain: func(string) (env, list []string) {
		return []string{"HARD=hard", "PATH=" + s.home + ":" + os.Getenv("PATH")}, words
	}})
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// A command that needs no shell does the same without one, confined or not.
func TestAProgramDoesTheSameWithoutAShell(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"noshebang": "echo by bash: $0 $1\n", "notaprogram": "text\n", "a b": "spaces\n"})
	if err := os.Chmod(filepath.Join(dir, "noshebang"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := newTestHost(t, nil).NewShell(dir)
	for name, box := range map[string]*sandbox.Spec{"free": nil, "confined": {Read: []string{dir}, KeepSignals: true}} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct {
				command string
				words   []string
			}{
				{"env", []string{"env"}},
				{"cat 'a b'", []string{"cat", "a b"}},
				{"/bin/cat 'a b' missing", []string{"/bin/cat", "a b", "missing"}},
				{"cat /proc/self/oom_score_adj /proc/self/limits", []string{"cat", "/proc/self/oom_score_adj", "/proc/self/limits"}},
				{"sh -c 'kill -9 $$'", []string{"sh", "-c", "kill -9 $$"}},
				{"sh -c 'exit 7'", []string{"sh", "-c", "exit 7"}},
				{"noshebang x", []string{"noshebang", "x"}},
				{"notaprogram", []string{"notaprogram"}},
				{"nothing-of-this-name", []string{"nothing-of-this-name"}},
				{"./a", []string{"./a"}},
			} {
				by, without := runPlain(t, s, box, c.command), runPlain(t, s, box, c.command, c.words...)
				if a, b := sameLines(by), sameLines(without); a != b {
					t.Errorf("%s: by bash\n%s\nwithout\n%s", c.command, a, b)
				}
				if a, b := by.Result(), without.Result(); a.Status.Code != b.Status.Code || a.Dir != b.Dir || a.DirChanged || b.DirChanged {
					t.Errorf("%s: by bash %+v, without %+v", c.command, a, b)
				}
			}
		})
	}
	if got := text(runPlain(t, s, nil, "not run", "cat", "/proc/self/comm")); got != "cat\n" {
		t.Errorf("a program by its words printed %q", got)
	}
}

// sameLines are the lines that a command printed, in an order that two runs share, without what differs from
// run to run.
func sameLines(task *Task) string {
	lines := strings.Split(text(task), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool {
		// The tag is of the command. Bash reports the death of a child by a signal.
		return strings.HasPrefix(l, "Max realtime timeout") || strings.Contains(strings.ToLower(l), "_proxy=") || strings.Contains(l, "Killed")
	})
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// A function of the environment takes the place of the program for bash.
func TestAFunctionOfTheEnvironmentNeedsTheShell(t *testing.T) {
	s := newTestHost(t, nil).NewShell(t.TempDir())
	task, err := s.Run(t.Context(), Request{Command: "cat x", Plain: func(string) (env, words []string) {
		return []string{"BASH_FUNC_cat%%=() { echo function; }"}, []string{"cat", "x"}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := text(task); got != "function\n" {
		t.Errorf("got %q", got)
	}
}

package shellrun

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/world/sandbox"
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
				{"sh -c 'exit 7'", []string{"sh", "-c", "exit 7"}},
				{"noshebang x", []string{"noshebang", "x"}},
				{"notaprogram", []string{"notaprogram"}},
				{"nothing-of-this-name", []string{"nothing-of-this-name"}},
				{"./a", []string{"./a"}},
				{"./cat 'a b'", []string{"./cat", "a b"}},
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
		return strings.HasPrefix(l, "Max realtime timeout") || strings.Contains(strings.ToLower(l), "_proxy=") // the tag is of the command
	})
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Bash reports that a child died by a signal. Without it there is no such line: the status has the signal.
func TestADeathWithoutAShellIsInTheStatus(t *testing.T) {
	s := newTestHost(t, nil).NewShell(t.TempDir())
	for _, c := range []struct {
		name, said string
		signal     unix.Signal
	}{{"KILL", "Killed", unix.SIGKILL}, {"SEGV", "Segmentation fault", unix.SIGSEGV}} {
		kill := "ulimit -c 0; kill -" + c.name + " $$"
		by, without := runPlain(t, s, nil, "sh -c "+quote(kill)), runPlain(t, s, nil, "not run", "sh", "-c", kill)
		if got, r := text(by), by.Result().Status; !strings.Contains(got, c.said) || r.Signal != 0 || r.Code != 128+int(c.signal) {
			t.Errorf("%s by bash: %q, %+v", c.name, got, r)
		}
		if got, r := text(without), without.Result().Status; got != "" || r.Signal != int(c.signal) || r.Code != 128+int(c.signal) {
			t.Errorf("%s without: %q, %+v", c.name, got, r)
		}
	}
}

// A program is looked for where bash looks, also by a PATH that depends on the directory.
func TestAProgramIsFoundWhereBashFindsIt(t *testing.T) {
	dir := t.TempDir()
	for _, at := range []string{".", "sub", "other/up", "up"} {
		file := filepath.Join(dir, at, "prog")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("#!/bin/sh\necho "+at+" $0\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("other/up", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	s := newTestHost(t, nil).NewShell(dir)
	for _, path := range []string{
		"/usr/bin:/bin:", ":/usr/bin:/bin", "/usr/bin::/bin", ".:/usr/bin:/bin", "/usr/bin:sub:/bin", "/usr/bin:/bin",
		dir + "/sub:/usr/bin:/bin", dir + "/sub/:/usr/bin:/bin", dir + "/link/../up:/usr/bin:/bin", dir + "/none:" + dir,
	} {
		for _, name := range []string{"prog", "./prog", "sub/prog", dir + "/link/../up/prog", "cat", "./cat"} {
			var ran [2]string
			for i, words := range [][]string{nil, {name, "/dev/null"}} {
				task, err := s.Run(t.Context(), Request{Command: name + " /dev/null", Timeout: 30 * time.Second, Plain: func(string) (env, list []string) {
					return []string{"PATH=" + path}, words
				}})
				if err != nil {
					t.Fatal(err)
				}
				ran[i] = fmt.Sprint(task.Result().Status.Code, " ", text(task))
			}
			if ran[0] != ran[1] {
				t.Errorf("%s with PATH=%s: by bash %q, without %q", name, path, ran[0], ran[1])
			}
		}
	}
}

// A name that is twice in the environment reaches the program once, and with the value that bash takes.
func TestEachVariableReachesAProgramOnce(t *testing.T) {
	s := newTestHost(t, func(o *Options) {
		o.Environ = append(os.Environ(), "LC_TWICE=first", "LC_TWICE=second", "SHLVL=3", "_=/bin/other")
		o.EnvNames = []string{"SHLVL", "_"}
	}).NewShell(t.TempDir())
	by, without := sameLines(runPlain(t, s, nil, "env")), sameLines(runPlain(t, s, nil, "not run", "env"))
	if by != without {
		t.Errorf("by bash\n%s\nwithout\n%s", by, without)
	}
	for _, want := range []string{"LC_TWICE=second", "SHLVL=4"} {
		if strings.Count("\n"+without+"\n", "\n"+want+"\n") != 1 {
			t.Errorf("no %s, or more than one:\n%s", want, without)
		}
	}
}

// What the environment tells bash may take the place of the program.
func TestAnEnvironmentThatChangesTheShellNeedsIt(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"env.sh": "cat() { echo from a file; }\n"})
	s := newTestHost(t, nil).NewShell(dir)
	for entry, want := range map[string]string{
		"BASH_FUNC_cat%%=() { echo function; }": "function\n",
		"BASH_ENV=" + dir + "/env.sh":           "from a file\n",
		"SHELLOPTS=xtrace":                      "+ cat /dev/null\n",
	} {
		task, err := s.Run(t.Context(), Request{Command: "cat /dev/null", Plain: func(string) (env, words []string) {
			return []string{entry}, []string{"cat", "/dev/null"}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got := text(task); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", entry, got, want)
		}
	}
	if !changesShell("EXECIGNORE=*/cat") {
		t.Error("EXECIGNORE is taken for a variable like any")
	}
}

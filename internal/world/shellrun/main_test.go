package shellrun

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/needtest"
)

func TestMain(m *testing.M) {
	reexec := Supervise()
	if os.Getenv(harnessEnv) != "" {
		harnessMain(reexec)
	}
	os.Exit(m.Run())
}

// testReexec is what TestMain's call of Supervise proves.
func testReexec() Reexec { return Supervise() }

// newTestHost makes a Host with a supervisor, closed with the test.
func newTestHost(t testing.TB, change func(*Options)) *Host {
	t.Helper()
	needtest.Program(t, "bash")
	opts := &Options{Reexec: testReexec(), NoProfile: true}
	if change != nil {
		change(opts)
	}
	confineSuite(opts)
	h := NewHost(opts)
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close the host: %v", err)
		}
	})
	return h
}

// run runs a command in a shell and returns its task, ended.
func run(t testing.TB, s *Shell, command string) *Task {
	t.Helper()
	task, err := s.Run(t.Context(), Request{Command: command, Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func text(task *Task) string { return task.Output().Excerpt(30000, false).Text }

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

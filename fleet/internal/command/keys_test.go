//go:build linux

package command_test

import (
	"strings"
	"testing"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/runs"
)

// Whoever tries with a worker's key what it does not allow is told so, and the run continues.
func TestAWorkersKeyCancelsNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	id, _ := f.submit(1)
	for _, args := range [][]string{{"runs", "cancel", id}, {"runs", "retry", id}, {"submit", "--run", id, "go on"}, {"questions", "allow", id + ".call"}} {
		cmd := f.start(append(args, "--join", f.url, "--key", f.key("worker"))...)
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("%q with a worker's key: %v", args, err)
		}
	}
	if run, err := f.runs.Get(t.Context(), id); err != nil || run.State != runs.Queued {
		t.Errorf("the run is %+v, %v", run, err)
	}
}

// A key that is made while the server runs can be used at once, from where it was written to.
func TestAKeyIsMadeWhileTheServerRuns(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	file := f.dir + "/builder.creds"
	if err := f.start("keys", "add", "builder", "--store", f.dir+"/store", "--to", file).Wait(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the key to be accepted", func() bool {
		conn, err := engine.Connect(t.Context(), f.url, &engine.ConnectOptions{Key: file})
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	w := f.start("worker", "--join", f.url, "--key", file, "--lease", lease.String(), "--dir", f.dir+"/sessions")
	t.Cleanup(func() { kill(w) })
	id, prompts := f.submit(1)
	f.mustEnd(t, id, prompts)
	out, err := f.runs.Outcome(t.Context(), id, prompts[0])
	if err != nil || !strings.HasPrefix(out.Worker, "builder/") {
		t.Errorf("%+v, %v", out, err)
	}
}

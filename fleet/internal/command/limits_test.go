//go:build linux

package command_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/model/script"
)

// A worker with eight free slots leads two of six runs at once, if that is the limit.
func TestNoMoreRunsAreLedThanMayBe(t *testing.T) {
	t.Parallel()
	f := prepareFleet(t)
	f.serveFlags = []string{"--max-running", "2"}
	f.startServer()
	f.connect()
	var mu sync.Mutex
	now, most := 0, 0
	f.setOverride(func(*script.Request) (script.Turn, bool) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		time.Sleep(200 * time.Millisecond) // a third one would come while two are here
		mu.Lock()
		now--
		mu.Unlock()
		return script.Turn{Blocks: []script.Block{{Text: "done"}}}, true
	})
	prompts := map[string][]string{}
	for range 6 {
		id, names := f.submit(1)
		prompts[id] = names
	}
	w := f.start("worker", "--join", f.url, "--key", f.key("worker"), "--slots", "8", "--dir", filepath.Join(f.dir, "sessions"))
	t.Cleanup(func() { kill(w) })
	for id, names := range prompts {
		f.mustEnd(t, id, names)
	}
	if most != 2 {
		t.Errorf("%d runs were led at once", most)
	}
}

// A user who submits many runs at once does not keep another one waiting for all of them.
func TestAUserWithManyRunsLetsOthersGoFirst(t *testing.T) {
	t.Parallel()
	f := prepareFleet(t)
	f.serveFlags = []string{"--fair-share", "2"}
	f.startServer()
	f.connect()
	var mu sync.Mutex
	var order []string
	names := regexp.MustCompile(`(ann|bob) \d`)
	f.setOverride(func(q *script.Request) (script.Turn, bool) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, names.FindString(q.LastText()))
		return script.Turn{Blocks: []script.Block{{Text: "done"}}}, true
	})
	waitFor(t, "the server to know its runs", func() bool {
		_, _, err := f.runs.Page(t.Context(), &runs.Query{})
		return err == nil
	})
	prompts := map[string]string{}
	submit := func(user, text, priority string) {
		t.Helper()
		id, p, err := f.runs.As(user).Submit(t.Context(), &runs.Submission{Dir: filepath.Join(f.dir, "project"), Priority: priority, Args: []string{"--model=sonnet"}, Prompt: runs.Prompt{Text: text}})
		if err != nil {
			t.Fatal(err)
		}
		prompts[id] = p
	}
	for n := range 5 {
		submit("ann", fmt.Sprint("ann ", n), "")
	}
	submit("bob", "bob 0", "")
	submit("bob", "bob 1", "low")
	w := f.start("worker", "--join", f.url, "--key", f.key("worker"), "--slots", "1", "--dir", filepath.Join(f.dir, "sessions"))
	t.Cleanup(func() { kill(w) })
	for id, p := range prompts {
		f.mustEnd(t, id, []string{p})
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{"ann 0", "ann 1", "bob 0", "ann 2", "ann 3", "ann 4", "bob 1"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Error(diff)
	}
}

// Runs for another host or with a label that no worker has are left alone, and tags find runs.
func TestRunsAreTakenByWhomTheyAreFor(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	host, err := os.Hostname()
	if err != nil {
		t.Skip(err)
	}
	submit := func(flags ...string) (id string) {
		t.Helper()
		args := append([]string{"submit", "--join", f.url, "--key", f.key("operator"), "--dir", filepath.Join(f.dir, "project")}, flags...)
		out := f.command(t, append(args, "TURN", "--", "--permission-mode=bypassPermissions", "--model=sonnet")...)
		return strings.Fields(out)[0]
	}
	elsewhere, gpu := submit("--host", "elsewhere.example"), submit("--label", "gpu", "--tag", "team=docs,kind=big")
	here := submit("--host", host, "--tag", "team=docs")
	state := func(id string) runs.State {
		run, err := f.runs.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return run.State
	}
	w := f.startWorker()
	t.Cleanup(func() { kill(w) })
	waitFor(t, "the run for this host", func() bool { return state(here) == runs.Idle })
	if state(elsewhere) != runs.Queued || state(gpu) != runs.Queued {
		t.Errorf("the run for another host is %s, the one with a label %s", state(elsewhere), state(gpu))
	}
	labelled := f.start("worker", "--join", f.url, "--key", f.key("worker"), "--label", "gpu", "--lease", lease.String(), "--dir", filepath.Join(f.dir, "sessions"))
	t.Cleanup(func() { kill(labelled) })
	waitFor(t, "the run with the label", func() bool { return state(gpu) == runs.Idle })
	if state(elsewhere) != runs.Queued {
		t.Errorf("the run for another host is %s", state(elsewhere))
	}
	for flag, want := range map[string][]string{"team=docs": {gpu, here}, "team=docs,kind=big": {gpu}, "team=code": nil} {
		found := map[string]bool{}
		out := f.command(t, "runs", "ls", "--json", "--tag", flag, "--join", f.url, "--key", f.key("operator"))
		for line := range bytes.Lines([]byte(out)) {
			var run runs.Run
			if err := json.Unmarshal(line, &run); err != nil {
				t.Fatal(err)
			}
			found[run.ID] = true
		}
		if len(found) != len(want) {
			t.Errorf("--tag %s finds %v", flag, found)
		}
		for _, id := range want {
			if !found[id] {
				t.Errorf("--tag %s does not find %s", flag, id)
			}
		}
	}
}

// command runs the program and returns what it printed.
func (f *fleet) command(t *testing.T, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), mainVariable+"=1", "HOME="+filepath.Join(f.dir, "home"))
	cmd.Stderr = f.output
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("haft-fleet %q: %v", args, err)
	}
	return string(out)
}

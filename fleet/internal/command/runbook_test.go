//go:build linux

package command_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/model/script"
)

// These tests follow docs/fleet-runbook.md.

// operator runs a command of an operator.
func (f *fleet) operator(t *testing.T, args ...string) string {
	t.Helper()
	at := len(args)
	if i := slices.Index(args, "--"); i >= 0 {
		at = i
	}
	return f.command(t, slices.Insert(args, at, "--join", f.url, "--key", f.key("operator"))...)
}

// A backup that is made while runs are led and journals are written has everything that was acknowledged before it
// began. What is restored from it is equal, and goes on working: also what waited when it was made.
func TestABackupIsRestored(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w := f.startWorker()
	t.Cleanup(func() { kill(w) })
	type snapshot struct {
		Run      *runs.Run
		Journal  string
		Outcomes []*runs.Outcome
	}
	look := func(f *fleet, id string, prompts []string) (s snapshot) {
		t.Helper()
		text, err := journal.New(f.conn, "default", nil).Text(t.Context(), id, "")
		if err == nil {
			s.Run, err = f.runs.Get(t.Context(), id)
		}
		for _, p := range prompts {
			out, outErr := f.runs.Outcome(t.Context(), id, p)
			if s.Outcomes = append(s.Outcomes, out); outErr != nil {
				err = outErr
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		s.Journal = string(text)
		return s
	}
	ended, before := map[string][]string{}, map[string]snapshot{}
	for range 3 {
		id, prompts := f.submit(2)
		ended[id] = prompts
	}
	for id, prompts := range ended {
		f.mustEnd(t, id, prompts)
		waitFor(t, "the run to rest", func() bool {
			run, err := f.runs.Get(t.Context(), id)
			return err == nil && run.State == runs.Idle
		})
		before[id] = look(f, id, prompts)
	}
	elsewhere := strings.TrimSpace(f.operator(t, "submit", "--dir", filepath.Join(f.dir, "project"), "--label", "later", "TURN waits"))
	writers := f.startWriters(t)
	waitFor(t, "entries", func() bool { return writers.count() > 50 })
	acknowledged := writers.acknowledged()
	var leading []string // while it is copied
	for range 4 {
		id, _ := f.submit(3)
		leading = append(leading, id)
	}
	to := filepath.Join(f.dir, "backup")
	f.operator(t, "backup", "--to", to)
	if count := writers.count(); count <= 50 {
		t.Errorf("nothing was written meanwhile: %d entries", count)
	}
	writers.end()

	g := prepareFleet(t)
	store := filepath.Join(g.dir, "store")
	g.command(t, "restore", to, "--store", store)
	if out, err := g.try("restore", to, "--store", store); err == nil {
		t.Errorf("restored over what is there: %s", out)
	}
	g.startServer()
	g.connect()
	for id, want := range before {
		if diff := cmp.Diff(want, look(g, id, ended[id]), cmp.AllowUnexported(runs.Run{})); diff != "" {
			t.Error(diff)
		}
	}
	logs := journal.New(g.conn, "default", nil)
	for id, want := range acknowledged {
		if got, err := logs.Text(t.Context(), id, ""); err != nil || !bytes.HasPrefix(got, want) {
			t.Errorf("%d of %d entries were restored: %v", bytes.Count(got, []byte("\n")), bytes.Count(want, []byte("\n")), err)
		}
	}
	g.operator(t, "repair")
	var kept runs.Repaired
	if err := json.Unmarshal([]byte(g.operator(t, "repair")), &kept); err != nil || len(kept.Made) > 0 || kept.Tasks > 0 {
		t.Errorf("repairing again does %+v, %v", kept, err)
	}
	worker := g.start("worker", "--join", g.url, "--key", g.key("worker"), "--label", "later", "--lease", lease.String(), "--dir", filepath.Join(g.dir, "sessions"))
	t.Cleanup(func() { kill(worker) })
	for _, id := range append(leading, elsewhere) { // whatever of them the copy has is finished
		waitFor(t, "a run that was copied half way", func() bool {
			run, err := g.runs.Get(t.Context(), id)
			if err != nil {
				return true // submitted after its shard was copied
			}
			pending, err := g.runs.Pending(t.Context(), id)
			return err == nil && len(pending) == 0 && (run.State == runs.Idle || run.State == runs.Queued)
		})
	}
	if run, err := g.runs.Get(t.Context(), elsewhere); err != nil || run.State != runs.Idle {
		t.Errorf("the run that waited: %+v, %v", run, err)
	}

	broken := filepath.Join(to, "J0.snapshot")
	raw, err := os.ReadFile(broken)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2] ^= 1
	if err := os.WriteFile(broken, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := g.try("restore", to, "--store", filepath.Join(g.dir, "other")); err == nil || !strings.Contains(out, "J0.snapshot is damaged") {
		t.Errorf("a damaged backup is restored: %s", out)
	}
}

// acknowledged is what the server has confirmed until now.
func (w *writers) acknowledged() map[string][]byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := map[string][]byte{}
	for id, text := range w.wrote {
		list[id] = bytes.Clone(text)
	}
	return list
}

// try runs the program and returns all that it said.
func (f *fleet) try(args ...string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), mainVariable+"=1", "HOME="+filepath.Join(f.dir, "home"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The list of runs is emptied, as an attacker with an operator's key could. It is made again from what was kept with the
// prompts, and from journals; runs that were deleted stay so.
func TestRepairMakesLostRunsAgain(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w := f.startWorker()
	t.Cleanup(func() { kill(w) })
	id, prompts := f.submit(1)
	f.mustEnd(t, id, prompts)
	waitFor(t, "the run to rest", func() bool {
		run, err := f.runs.Get(t.Context(), id)
		return err == nil && run.State == runs.Idle
	})
	bare, _ := f.submit(1)
	waitFor(t, "the journal of the other run", func() bool {
		run, err := f.runs.Get(t.Context(), bare)
		return err == nil && run.State == runs.Idle
	})
	kill(w)
	deleted, _ := f.submit(1)
	if err := f.runs.Delete(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	waiting := strings.TrimSpace(f.operator(t, "submit", "--dir", filepath.Join(f.dir, "project"), "--tag", "team=docs", "TURN waits", "--", "--model=sonnet", "--permission-mode=bypassPermissions"))
	was, err := f.runs.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.runs.DropPrompts(t.Context(), bare); err != nil {
		t.Fatal(err)
	}
	for n := range uint32(engine.Shards) {
		s, err := f.conn.Stream(t.Context(), "KV_"+engine.Runs(n))
		if err != nil {
			t.Fatal(err)
		}
		for _, lost := range []string{id, bare, waiting} {
			if err := s.Purge(t.Context(), jetstream.WithPurgeSubject("$KV."+engine.Runs(n)+".default."+lost)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := f.runs.Get(t.Context(), id); err == nil {
		t.Fatal("the run is still there")
	}
	var did runs.Repaired
	if err := json.Unmarshal([]byte(f.operator(t, "repair")), &did); err != nil {
		t.Fatal(err)
	}
	if len(did.Made) != 2 || len(did.Aside) != 1 || did.Aside[0] != bare {
		t.Errorf("%+v", did)
	}
	got, err := f.runs.Get(t.Context(), id)
	if err != nil || got.State != runs.Idle || !cmp.Equal(got.Args, was.Args) || got.Dir != was.Dir || !got.Created.Equal(was.Created) {
		t.Errorf("%+v, %v; it was %+v", got, err, was)
	}
	if got, err := f.runs.Get(t.Context(), bare); err != nil || got.State != runs.Quarantined || got.Dir != filepath.Join(f.dir, "project") || len(got.Args) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := f.runs.Get(t.Context(), deleted); err == nil {
		t.Errorf("a deleted run is back: %+v", got)
	}
	w = f.startWorker()
	t.Cleanup(func() { kill(w) })
	waitFor(t, "the run that waited", func() bool {
		run, err := f.runs.Get(t.Context(), waiting)
		return err == nil && run.State == runs.Idle && run.Tags["team"] == "docs"
	})
}

// A worker that is told to end gives a turn that takes too long back, within the time that it may take, and another
// worker finishes the run.
func TestAWorkerIsDrained(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.setOverride(func(q *script.Request) (script.Turn, bool) {
		if strings.Contains(q.LastText(), "TURN") {
			return script.Turn{Blocks: []script.Block{{Tool: "Bash", Input: json.RawMessage(`{"command":"echo begun >>` + f.effects + `; sleep 600"}`)}}}, true
		}
		return script.Turn{}, false
	})
	status := f.freeAddress()
	w := f.start("worker", "--join", f.url, "--key", f.key("worker"), "--lease", lease.String(), "--dir", filepath.Join(f.dir, "sessions"), "--drain", "2s", "--status", status)
	t.Cleanup(func() { kill(w) })
	id, prompts := f.submit(1)
	waitFor(t, "the command", func() bool { return exists(f.effects) })
	if out, err := f.try("check", "http://"+status+"/readyz"); err != nil {
		t.Errorf("a worker that works is not ready: %s", out)
	}
	if err := w.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	waitFor(t, "the worker to say that it is not ready", func() bool {
		out, err := f.try("check", "http://"+status+"/readyz")
		return err != nil && strings.Contains(out, "the worker is stopping")
	})
	if err := w.Wait(); err != nil {
		t.Errorf("the worker ends with %v", err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
	f.setOverride(nil)
	other := f.startWorker()
	t.Cleanup(func() { kill(other) })
	f.mustEnd(t, id, prompts)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// A worker for one run ends when the run has nothing more to do, and leaves the next one to another worker.
func TestAWorkerForOneRun(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	first, prompts := f.submit(2)
	second, later := f.submit(1)
	for _, step := range []struct {
		led, waits string
		prompts    []string
	}{{first, second, prompts}, {second, "", later}} {
		w := f.start("worker", "--join", f.url, "--key", f.key("worker"), "--lease", lease.String(), "--dir", filepath.Join(f.dir, step.led), "--one-run")
		t.Cleanup(func() { kill(w) })
		f.mustEnd(t, step.led, step.prompts)
		if err := w.Wait(); err != nil {
			t.Errorf("the worker ends with %v", err)
		}
		if step.waits == "" {
			continue
		}
		if run, err := f.runs.Get(t.Context(), step.waits); err != nil || run.State != runs.Queued {
			t.Errorf("%+v, %v", run, err)
		}
	}
}

// A worker whose key is rotated goes on working without a restart, and one whose key is revoked takes nothing more.
func TestAWorkersKeyIsRotated(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	file, store := filepath.Join(f.dir, "builder.creds"), filepath.Join(f.dir, "store")
	f.command(t, "keys", "add", "builder", "--store", store, "--to", file)
	first, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w := f.start("worker", "--join", f.url, "--key", file, "--lease", lease.String(), "--dir", filepath.Join(f.dir, "sessions"))
	t.Cleanup(func() { kill(w) })
	id, prompts := f.submit(1)
	f.mustEnd(t, id, prompts)
	f.command(t, "keys", "rotate", "builder", "--store", store, "--to", file)
	if second, err := os.ReadFile(file); err != nil || bytes.Equal(first, second) {
		t.Errorf("the file has the old key: %v", err)
	}
	f.servers[0].restart() // everybody connects again
	id, prompts = f.submit(1)
	f.mustEnd(t, id, prompts)
	f.command(t, "keys", "revoke", "builder", "--store", store)
	waitFor(t, "the worker to be gone", func() bool {
		list, err := f.runs.Workers(t.Context())
		return err == nil && len(list) == 0
	})
	id, _ = f.submit(1)
	if run, err := f.runs.Get(t.Context(), id); err != nil || run.State != runs.Queued {
		t.Errorf("%+v, %v", run, err)
	}
}

// Runs that have had nothing to do for long are archived by the server, and can be listed and read; who did what to them
// is known.
func TestRestingRunsAreArchived(t *testing.T) {
	t.Parallel()
	f := prepareFleet(t)
	f.serveFlags = []string{"--archive-after", "2s"}
	f.startServer()
	f.connect()
	w := f.startWorker()
	t.Cleanup(func() { kill(w) })
	id, prompts := f.submit(1)
	f.mustEnd(t, id, prompts)
	waitFor(t, "the run to be archived", func() bool {
		run, err := f.runs.Get(t.Context(), id)
		return err == nil && run.State == runs.Archived
	})
	run, err := f.runs.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(run.Archive); err != nil || !bytes.Contains(text, []byte("TURN 0")) || !strings.HasPrefix(run.Archive, filepath.Join(f.dir, "store", "archive")) {
		t.Errorf("%s has %d bytes, %v", run.Archive, len(text), err)
	}
	if out := f.operator(t, "runs", "ls", "--state", "archived"); !strings.Contains(out, id) {
		t.Errorf("it is not listed:\n%s", out)
	}
	f.operator(t, "submit", "--dir", f.dir, "--label", "nobody", "of the command")
	out := f.operator(t, "audit")
	for _, want := range []string{"archive", "retention", "submit", "TURN 0", "of the command", "operator"} {
		if !strings.Contains(out, want) {
			t.Errorf("the list of who did what has no %q:\n%s", want, out)
		}
	}
	if s, err := f.conn.Stream(t.Context(), engine.Audit); err != nil || s.Purge(t.Context()) == nil || s.DeleteMsg(t.Context(), 1) == nil {
		t.Errorf("what users did can be removed: %v", err)
	}
}

// A run that fails says why where the runbook tells operators to look, and can be tried again.
func TestAFailedRunSaysWhy(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.setOverride(func(*script.Request) (script.Turn, bool) {
		return script.Turn{Fault: script.Fault{Status: http.StatusUnauthorized}}, true
	})
	w := f.startWorker()
	t.Cleanup(func() { kill(w) })
	id, _ := f.submit(1)
	waitFor(t, "the run to fail", func() bool {
		run, err := f.runs.Get(t.Context(), id)
		return err == nil && run.State == runs.Failed
	})
	if out := f.operator(t, "runs", "show", id); !strings.Contains(out, `"reason"`) || !strings.Contains(out, "401") {
		t.Errorf("it is shown as %s", out)
	}
	f.setOverride(nil)
	f.mustEnd(t, id, []string{f.continued(t, id)})
}

// continued submits one more prompt to a run.
func (f *fleet) continued(t *testing.T, id string) string {
	t.Helper()
	_, prompt, err := f.runs.Submit(t.Context(), &runs.Submission{ID: id, Prompt: runs.Prompt{Text: "TURN again"}})
	if err != nil {
		t.Fatal(err)
	}
	return prompt
}

// A server that is started on a full disk says so, and answers who reads.
func TestAServerStartsOnAFullDisk(t *testing.T) {
	t.Parallel()
	f := prepareFleet(t)
	store := filepath.Join(f.dir, "store")
	mountImage(t, filepath.Join(f.dir, "disk"), store, 128<<20)
	status := f.freeAddress()
	f.serveFlags = []string{"--status", status}
	f.startServer()
	f.connect()
	id, _ := f.submit(1)
	fill(t, filepath.Join(store, "ballast"), 4<<20)
	f.servers[0].restart()
	waitFor(t, "the server to say that its disk is full", func() bool {
		res, err := http.Get("http://" + status + "/readyz")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return err == nil && res.StatusCode == http.StatusServiceUnavailable && strings.Contains(string(text), "the disk is full")
	})
	if out := f.operator(t, "runs", "show", id); !strings.Contains(out, `"queued"`) {
		t.Errorf("the run is shown as %s", out)
	}
	if err := os.Remove(filepath.Join(store, "ballast")); err != nil {
		t.Fatal(err)
	}
	w := f.startWorker()
	t.Cleanup(func() { kill(w) })
	waitFor(t, "the run", func() bool {
		run, err := f.runs.Get(t.Context(), id)
		return err == nil && run.State == runs.Idle
	})
}

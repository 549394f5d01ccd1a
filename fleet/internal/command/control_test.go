//go:build linux

package command_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/model/script"
)

// ask begins a run that has to ask about its command, and waits for the question.
func (f *fleet) ask(t *testing.T) (id, prompt string, q *runs.Question) {
	t.Helper()
	id, prompt, err := f.runs.Submit(t.Context(), &runs.Submission{
		Dir: filepath.Join(f.dir, "project"), Args: []string{"--model=sonnet"}, Ask: true, Prompt: runs.Prompt{Text: "TURN with a question"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return id, prompt, f.question(t, id)
}

func (f *fleet) question(t *testing.T, id string) (q *runs.Question) {
	t.Helper()
	waitFor(t, "a question", func() bool {
		list, err := f.runs.Questions(t.Context())
		for _, one := range list {
			if one.Run == id {
				q = one
			}
		}
		return err == nil && q != nil
	})
	return q
}

// Eight users answer one question at once: one of them counts, the others hear who it was, and
// the command runs once or not at all, as that one said.
func TestTheFirstAnswerCounts(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w := f.startWorker()
	t.Cleanup(func() { kill(w) })
	for round := range 3 {
		id, prompt, q := f.ask(t)
		if run, err := f.runs.Get(t.Context(), id); err != nil || run.State != runs.Asking || q.Tool != "Bash" {
			t.Fatalf("asked %+v, run %+v, %v", q, run, err)
		}
		before := f.effectCount(t)
		winner, allowed := atomic.Int32{}, atomic.Bool{}
		var first sync.Map
		var users sync.WaitGroup
		for i := range 8 {
			users.Go(func() {
				a := runs.Answer{Allow: i%2 == 0, By: fmt.Sprintf("user-%d", i), Message: "no"}
				err := f.runs.Answer(t.Context(), q.ID, a)
				var lost *runs.AnsweredError
				switch {
				case err == nil:
					winner.Add(1)
					allowed.Store(a.Allow)
					first.Store(a.By, true)
				case errors.As(err, &lost):
					first.Store(lost.Answer.By, true)
				default:
					t.Error(err)
				}
			})
		}
		users.Wait()
		named := 0
		first.Range(func(any, any) bool { named++; return true })
		if winner.Load() != 1 || named != 1 {
			t.Errorf("round %d: %d answers counted, %d users were named as first", round, winner.Load(), named)
		}
		f.mustEnd(t, id, []string{prompt})
		want := before
		if allowed.Load() {
			want++
		}
		if got := f.effectCount(t); got != want {
			t.Errorf("round %d: allowed: %t, and %d effects became %d", round, allowed.Load(), before, got)
		}
	}
}

func (f *fleet) effectCount(t *testing.T) int {
	t.Helper()
	raw, err := os.ReadFile(f.effects)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return bytes.Count(raw, []byte("\n"))
}

// A worker that is lost while it asks takes its question with it; the next one asks again.
func TestAQuestionOfALostWorkerIsAskedAgain(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w := f.startWorker()
	id, prompt, q := f.ask(t)
	kill(w)
	w = f.startWorker()
	t.Cleanup(func() { kill(w) })
	waitFor(t, "another question in its place", func() bool {
		list, err := f.runs.Questions(t.Context())
		return err == nil && len(list) == 1 && list[0].ID != q.ID
	})
	if err := f.runs.Answer(t.Context(), q.ID, runs.Answer{Allow: true, By: "late"}); err == nil {
		t.Error("a question of a lost worker could be answered")
	}
	if err := f.runs.Answer(t.Context(), f.question(t, id).ID, runs.Answer{Allow: true, By: "user"}); err != nil {
		t.Fatal(err)
	}
	f.mustEnd(t, id, []string{prompt})
	if n := f.effectCount(t); n != 1 {
		t.Errorf("%d effects", n)
	}
}

// A run that kills its workers is put aside with a reason, and can be tried again.
func TestARunThatKillsWorkersIsQuarantined(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	var mu sync.Mutex
	var w *exec.Cmd
	var harmless atomic.Bool
	f.setOverride(func(q *script.Request) (script.Turn, bool) {
		if harmless.Load() {
			return script.Turn{}, false
		}
		mu.Lock()
		defer mu.Unlock()
		_ = w.Process.Kill() // it may be dead
		return script.Turn{Blocks: []script.Block{{Text: "too late"}}}, true
	})
	id, prompts := f.submit(1)
	start := func() {
		mu.Lock()
		defer mu.Unlock()
		w = f.start("worker", "--join", f.url, "--key", f.key("worker"), "--lease", "1s", "--attempts", "1", "--dir", filepath.Join(f.dir, "sessions"))
	}
	start()
	t.Cleanup(func() { kill(w) })
	waitFor(t, "the run to be put aside", func() bool {
		mu.Lock()
		dead := w.Process.Signal(syscall.Signal(0)) != nil || exited(w)
		mu.Unlock()
		if dead {
			start()
		}
		run, err := f.runs.Get(t.Context(), id)
		return err == nil && run.State == runs.Quarantined && strings.Contains(run.Reason, "(attempts: ")
	})
	harmless.Store(true)
	if err := f.runs.Retry(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	f.mustEnd(t, id, prompts)
}

// exited reports whether a process has ended and nobody has waited for it.
func exited(cmd *exec.Cmd) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
	_, after, _ := bytes.Cut(raw, []byte(") "))
	if err == nil && !bytes.HasPrefix(after, []byte("Z")) {
		return false
	}
	_ = cmd.Wait() // its status is known
	return true
}

// A worker that is told to end finishes its turn, takes no other run and exits; a run that was
// cancelled runs nothing more.
func TestAWorkerDrains(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	asked, proceed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f.setOverride(func(q *script.Request) (script.Turn, bool) {
		once.Do(func() {
			close(asked)
			<-proceed
		})
		return script.Turn{}, false
	})
	w := f.startWorker()
	id, prompts := f.submit(1)
	<-asked
	if err := w.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the worker to take no more runs", func() bool {
		raw, err := os.ReadFile(f.output.Name())
		return err == nil && bytes.Contains(raw, []byte("taking no more runs"))
	})
	second, secondPrompts := f.submit(1)
	third, thirdPrompts := f.submit(1)
	if err := f.runs.Cancel(t.Context(), third); err != nil {
		t.Fatal(err)
	}
	close(proceed)
	if err := w.Wait(); err != nil {
		t.Errorf("the worker ends with %v", err)
	}
	f.mustEnd(t, id, prompts)
	if run, err := f.runs.Get(t.Context(), second); err != nil || run.State != runs.Queued {
		t.Errorf("the other run is %+v, %v", run, err)
	}
	w = f.startWorker()
	t.Cleanup(func() { kill(w) })
	f.mustEnd(t, second, secondPrompts)
	if out, err := f.runs.Await(t.Context(), third, thirdPrompts[0]); err != nil || out.Reason != "cancelled" {
		t.Errorf("the cancelled run: %+v, %v", out, err)
	}
	if n := f.effectCount(t); n != 2 {
		t.Errorf("%d effects of two runs", n)
	}
}

// What is urgent is taken first, whatever was submitted before; and there is room for so many.
func TestUrgentRunsAreTakenFirst(t *testing.T) {
	t.Parallel()
	f := prepareFleet(t)
	f.serveFlags = []string{"--max-queued", "3"}
	f.startServer()
	f.connect()
	var mu sync.Mutex
	var order []string
	f.setOverride(func(q *script.Request) (script.Turn, bool) {
		mu.Lock()
		defer mu.Unlock()
		text := strings.TrimSpace(q.LastText())
		order = append(order, text[strings.LastIndexByte(text, '\n')+1:])
		return script.Turn{Blocks: []script.Block{{Text: "done"}}}, true
	})
	submit := func(priority string) (string, string, error) {
		return f.runs.Submit(t.Context(), &runs.Submission{Dir: filepath.Join(f.dir, "project"), Args: []string{"--model=sonnet"}, Priority: priority,
			Tags: map[string]string{"why": "test"}, Prompt: runs.Prompt{Text: "priority " + priority}})
	}
	prompts := map[string]string{}
	for _, p := range []string{"low", "normal", "high"} {
		id, prompt, err := submit(p)
		if err != nil {
			t.Fatal(err)
		}
		prompts[id] = prompt
	}
	if _, _, err := submit("high"); !errors.Is(err, runs.ErrFull) {
		t.Errorf("a fourth run of three: %v", err)
	}
	if _, _, err := submit("urgent"); err == nil {
		t.Error("there is a priority urgent")
	}
	w := f.start("worker", "--join", f.url, "--key", f.key("worker"), "--slots", "1", "--dir", filepath.Join(f.dir, "sessions"))
	t.Cleanup(func() { kill(w) })
	for id, p := range prompts {
		f.mustEnd(t, id, []string{p})
	}
	if got := strings.Join(order, "; "); got != "priority high; priority normal; priority low" {
		t.Errorf("taken as %s", got)
	}
}

// A schedule begins a run whenever it is due, and none after it was removed.
func TestSchedulesSubmitRuns(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	s := &runs.Schedule{Name: "tick", Cron: "@every 1s", Submission: runs.Submission{Dir: f.dir, Prompt: runs.Prompt{Text: "TURN"}}}
	if err := f.runs.SetSchedule(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	begun := func() int {
		list, err := f.runs.List(t.Context())
		if err != nil {
			return 0 // the server is away
		}
		for _, run := range list {
			if run.Tags["schedule"] != "tick" {
				t.Errorf("run %+v", run)
			}
		}
		return len(list)
	}
	waitFor(t, "two runs of the schedule", func() bool { return begun() >= 2 })
	was := begun()
	f.servers[0].restart()
	waitFor(t, "runs after the server was killed", func() bool { return begun() > was })
	waitFor(t, "the server to remove the schedule", func() bool { return f.runs.RemoveSchedule(t.Context(), "tick") == nil })
	if list, err := f.runs.Schedules(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("schedules %v, %v", list, err)
	}
	for _, bad := range []string{"61 * * * *", "* * *", "nonsense"} {
		if err := f.runs.SetSchedule(t.Context(), &runs.Schedule{Name: "bad", Cron: bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// Operators see how a fleet is, and logs are JSON.
func TestStatus(t *testing.T) {
	t.Parallel()
	f := prepareFleet(t)
	status := f.freeAddress()
	f.serveFlags = []string{"--status", status, "--tenant", "default,red"}
	f.startServer()
	f.connect()
	w := f.startWorker()
	id, prompts := f.submit(1)
	f.mustEnd(t, id, prompts)
	get := func(path string) (int, string) {
		res, err := http.Get("http://" + status + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(raw)
	}
	waitFor(t, "the status", func() bool {
		res, err := http.Get("http://" + status + "/healthz")
		if err == nil {
			res.Body.Close()
		}
		return err == nil
	})
	if code, text := get("/healthz"); code != http.StatusOK || text != "ok\n" {
		t.Errorf("/healthz: %d %q", code, text)
	}
	_, text := get("/metrics")
	for _, want := range []string{`haft_runs{state="idle",tenant="default"} 1`, `haft_runs{state="idle",tenant="red"} 0`, `haft_questions{tenant="default"} 0`,
		// A prompt, its outcome, and the witness of the journal.
		fmt.Sprintf(`haft_stream_messages{stream=%q,tenant="default"} 3`, engine.Sessions(engine.ShardOf(id)))} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("/metrics has no %s:\n%s", want, text)
		}
	}
	kill(w)
	raw, err := os.ReadFile(f.output.Name())
	if err != nil {
		t.Fatal(err)
	}
	logged := 0
	for line := range bytes.Lines(raw) {
		var entry struct {
			Time         time.Time
			Level, Msg   string
			Worker, Name string
		}
		if line[0] == '{' {
			if err := json.Unmarshal(line, &entry); err != nil || entry.Msg == "" || entry.Time.IsZero() {
				t.Errorf("logged %s: %v", line, err)
			}
			logged++
		}
	}
	if logged == 0 {
		t.Errorf("nothing was logged in %q", raw)
	}
}

// A worker that is killed between a prompt's outcome and its last note, or that took a run over
// from one that had just ended, leaves a run without a task that seems to be led.
func TestARunThatNobodyLeadsRests(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w := f.startWorker()
	t.Cleanup(func() { kill(w) })
	id, names := f.submit(1)
	f.mustEnd(t, id, names)
	if _, err := f.runs.Update(t.Context(), id, func(r *runs.Run) error {
		r.State, r.Owner, r.Taken = runs.Running, "a worker that is gone", 1
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	f.mustEnd(t, id, names)
}

package session_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/sessiontest"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// worker is set in the process that TestKilledAnywhere kills.
const worker = "HAFT_SESSION_WORKER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(worker); dir != "" {
		if err := work(context.Background(), dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if dir := os.Getenv(sharer); dir != "" {
		share(context.Background(), dir)
		return
	}
	os.Exit(m.Run())
}

const (
	workerSession = "aaaaaaaa-0000-4000-8000-000000000000"
	marksPerTurn  = 3
)

// marks is how many effects the worker is to have.
func marks() int {
	if os.Getenv("HAFT_TORTURE") != "" {
		return 1500
	}
	return 120
}

// work has each of its effects once, however often it is killed and started
// again: it relies on nothing but the session, and on a look at the world where
// the session says that an outcome is unknown.
func work(ctx context.Context, dir string) error {
	store := session.Open(filepath.Join(dir, "store"))
	s, err := store.Resume(ctx, workerSession, nil)
	if errors.Is(err, session.ErrNotFound) {
		s, err = store.Create(ctx, &session.CreateOptions{ID: workerSession, Cwd: dir})
	}
	if err != nil {
		return err
	}
	defer s.Close()
	done, err := settled(s.Restored().History, dir)
	if err != nil {
		return err
	}
	if err := s.Append(ctx, sessiontest.Prompt("go on")); err != nil {
		return err
	}
	fmt.Println("ready")
	pipeline := sched.New(&sched.Options{Recorder: s, Judge: sched.JudgeFunc(func(context.Context, tool.Case) tool.Verdict {
		return tool.Verdict{Behavior: tool.Allow}
	})})
	set := tool.NewSet(nil, []tool.Tool{markTool(dir)}, nil, nil)
	var todo []int
	for n := range marks() {
		if !done[n] {
			todo = append(todo, n)
		}
	}
	for turn := range slices.Chunk(todo, marksPerTurn) {
		if err := takeTurn(ctx, s, pipeline, set, turn); err != nil {
			return err
		}
	}
	return nil
}

// takeTurn is an answer whose calls run while it is still being written.
func takeTurn(ctx context.Context, s *session.Session, pipeline *sched.Scheduler, set *tool.Set, turn []int) error {
	id := session.NewUUID()
	batch := pipeline.Start(ctx, &sched.BatchOptions{Tools: set,
		CallID: func(i int) string { return fmt.Sprintf("%s-%d", id, i) }})
	for _, n := range turn {
		use := fmt.Sprintf("use-%s-%d", id, n)
		input := fmt.Sprintf(`{"n":%d}`, n)
		if err := s.Append(ctx, sessiontest.Answer(id, sessiontest.Use(use, "Mark", input))); err != nil {
			return err
		}
		batch.Add(use, "Mark", []byte(input))
	}
	batch.End()
	for out := range batch.Outcomes() {
		if out.Status != sched.Succeeded {
			return fmt.Errorf("call %s %v: %s", out.UseID, out.Status, out.Result.Text())
		}
	}
	if rand.IntN(8) == 0 {
		return s.Append(ctx, session.Entry{State: &session.State{Name: "turn", Value: json.RawMessage(`1`)}})
	}
	return nil
}

// markTool writes a number to the file of effects.
func markTool(dir string) tool.Tool {
	type input struct {
		N int `json:"n" jsonschema:"The number."`
	}
	return tool.New(tool.Def[input, string]{
		Name: "Mark", Description: "Marks.",
		Run: func(_ context.Context, _ *tool.Call, in input) (string, error) {
			file, err := os.OpenFile(filepath.Join(dir, "effects"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
			if err != nil {
				return "", err
			}
			defer file.Close()
			time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
			if _, err := fmt.Fprintf(file, "%d\n", in.N); err != nil {
				return "", err
			}
			time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
			return fmt.Sprintf("marked %d", in.N), nil
		},
	})
}

// settled returns which effects the conversation says are there, as a model would
// understand it, and checks that against the world.
func settled(h *model.History, dir string) (map[int]bool, error) {
	effects, err := effectsIn(dir)
	if err != nil {
		return nil, err
	}
	asked, done := map[string]int{}, map[int]bool{}
	for i := range h.Len() {
		m, err := h.Message(i)
		if err != nil {
			return nil, err
		}
		for _, b := range m.Content {
			switch b.Type {
			case model.ToolUse:
				var in struct{ N int }
				if err := json.Unmarshal(b.Input, &in); err != nil {
					return nil, err
				}
				asked[b.ID] = in.N
			case model.ToolResult:
				n, text := asked[b.UseID], tool.JoinText(b.Content)
				switch {
				case !b.IsError:
					if effects[n] == 0 {
						return nil, fmt.Errorf("the journal says that %d was marked, and it is not", n)
					}
					done[n] = true
				case strings.Contains(text, "outcome is unknown"):
					done[n] = done[n] || effects[n] > 0
				case !strings.Contains(text, "never ran"):
					return nil, fmt.Errorf("result of %d: %s", n, text)
				}
			}
		}
	}
	return done, nil
}

func effectsIn(dir string) (map[int]int, error) {
	raw, err := os.ReadFile(filepath.Join(dir, "effects"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	found := map[int]int{}
	for text := range bytes.Lines(raw) {
		var n int
		if _, err := fmt.Sscanf(string(text), "%d\n", &n); err != nil {
			return nil, err
		}
		found[n]++
	}
	return found, nil
}

// TestKilledAnywhere kills a process that works at random moments, 12 times or,
// if HAFT_TORTURE is set, 200 times, and then lets it finish.
func TestKilledAnywhere(t *testing.T) {
	kills := 12
	if os.Getenv("HAFT_TORTURE") != "" {
		kills = 200
	}
	dir := t.TempDir()
	killed := 0
	for killed < kills {
		if finished := runWorker(t, dir, time.Duration(rand.IntN(20_000))*time.Microsecond); finished {
			break
		}
		killed++
	}
	runWorker(t, dir, time.Minute)
	t.Logf("killed %d times", killed)
	if killed < kills*3/4 {
		t.Errorf("it was done after %d kills of %d", killed, kills)
	}
	effects, err := effectsIn(dir)
	if err != nil {
		t.Fatal(err)
	}
	for n := range marks() {
		if effects[n] != 1 {
			t.Errorf("effect %d happened %d times", n, effects[n])
		}
	}
	s := sessiontest.Resume(t, session.Open(filepath.Join(dir, "store")), workerSession, nil)
	if done, err := settled(s.Restored().History, dir); err != nil || len(done) != marks() {
		t.Errorf("the journal knows of %d effects, %v", len(done), err)
	}
}

// TestAnotherProcessIsNamed resumes a session that another process works on, and
// again once that was killed.
func TestAnotherProcessIsNamed(t *testing.T) {
	dir := t.TempDir()
	cmd, _ := startWorker(t, dir)
	store := session.Open(filepath.Join(dir, "store"))
	hurried, cancel := context.WithCancel(t.Context())
	cancel() // it does not wait for the end of the turn
	_, err := store.Resume(hurried, workerSession, nil)
	if want := fmt.Sprintf("session %s is in use by process %d; watch and control it with 'haft attach %s', end that process, or continue in a copy with --fork-session", workerSession, cmd.Process.Pid, workerSession); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	cmd.Process.Kill()
	cmd.Wait()
	sessiontest.Resume(t, store, workerSession, nil)
}

// startWorker starts the worker and waits until it is ready.
func startWorker(t *testing.T, dir string) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), worker+"="+dir)
	stderr := &strings.Builder{}
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		cmd.Wait()
		t.Fatalf("the worker did not get ready: %v %s", err, stderr)
	}
	return cmd, stderr
}

// runWorker starts the worker, kills it some time after it is ready, and reports
// whether it had finished.
func runWorker(t *testing.T, dir string, after time.Duration) (finished bool) {
	t.Helper()
	cmd, stderr := startWorker(t, dir)
	timer := time.AfterFunc(after, func() { cmd.Process.Kill() })
	err := cmd.Wait()
	timer.Stop()
	if err != nil && stderr.Len() > 0 {
		t.Fatalf("the worker failed: %v %s", err, stderr)
	}
	return err == nil
}

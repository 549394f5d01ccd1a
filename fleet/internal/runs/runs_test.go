package runs

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/engine/enginetest"
)

func open(t *testing.T) *Runs {
	t.Helper()
	return New(enginetest.Setup(t), engine.DefaultTenant)
}

// write writes a value as a hostile worker may.
func write(t *testing.T, r *Runs, bucket, key string, value any) {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	kv, err := r.conn.Bucket(t.Context(), bucket)
	if err == nil {
		_, err = kv.Put(t.Context(), r.key(key), raw)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What a value says about its id does not count, and a key that is no plain word is no id.
func TestIDsComeFromKeys(t *testing.T) {
	r := open(t)
	shard := engine.Runs(engine.ShardOf("good"))
	write(t, r, shard, "good", &Run{ID: "../../..", State: Idle})
	write(t, r, shard, "a/b", &Run{ID: "fine", State: Idle})
	write(t, r, engine.Runs(engine.ShardOf("a/b")), "a/b", &Run{ID: "fine", State: Idle})
	list, err := r.List(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != "good" {
		t.Errorf("listed %v, %v", list, err)
	}
	if run, err := r.Get(t.Context(), "good"); err != nil || run.ID != "good" {
		t.Errorf("got %v, %v", run, err)
	}
	if run, err := r.Get(t.Context(), "a/b"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, %v", run, err)
	}
	write(t, r, engine.Questions, "good.call", &Question{ID: "../..", Run: "../.."})
	write(t, r, engine.Questions, "a/b.call", &Question{ID: "good.other", Run: "good"})
	questions, err := r.Questions(t.Context())
	if err != nil || len(questions) != 1 || questions[0].ID != "good.call" || questions[0].Run != "good" {
		t.Errorf("listed %v, %v", questions, err)
	}
	if _, err := r.Ask(t.Context(), &Question{Run: "../.."}, "call"); err == nil {
		t.Error("a run that cannot be has asked")
	}
	seen := map[string]string{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_ = r.Watch(ctx, cancel, func(id string, run *Run) { seen[id] = run.ID }) // it ends when all are known
	if len(seen) != 1 || seen["good"] != "good" {
		t.Errorf("watched %v", seen)
	}
}

// What does not fit into a message is refused at once, and leaves nothing behind.
func TestWhatIsTooLargeIsRefused(t *testing.T) {
	r := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	long := strings.Repeat("x", 2<<20)
	for name, s := range map[string]*Submission{
		"text": {ID: "text", Prompt: Prompt{Text: long}}, "flags": {ID: "flags", Prompt: Prompt{Args: []string{long}}}, "run": {ID: "run", Args: []string{long}},
	} {
		if _, _, err := r.Submit(ctx, s); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: submitted with %v", name, err)
		}
		if _, err := r.Get(ctx, name); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: the run is there, %v", name, err)
		}
	}
	if _, err := r.Ask(ctx, &Question{Run: "run", Title: long}, "call"); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("asked with %v", err)
	}
	if _, err := r.Begin(ctx, &Submission{ID: "run"}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Update(ctx, "run", func(run *Run) error { run.Reason = long; return nil }); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("updated with %v", err)
	}
}

// A run that was reopened in vain is what it was, unless it has changed since.
func TestReopenIsUndone(t *testing.T) {
	r := open(t)
	if _, err := r.Begin(t.Context(), &Submission{ID: "run"}); err != nil {
		t.Fatal(err)
	}
	cancelled := func(run *Run) error {
		run.State, run.Reason, run.Taken = Cancelled, "cancelled", 3
		return nil
	}
	if _, err := r.Update(t.Context(), "run", cancelled); err != nil {
		t.Fatal(err)
	}
	run, undo, err := r.Reopen(t.Context(), "run")
	if err != nil || run.State != Queued {
		t.Fatalf("%v, %v", run, err)
	}
	if run, err = undo(t.Context()); err != nil || run.State != Cancelled || run.Reason != "cancelled" || run.Taken != 3 {
		t.Errorf("undone: %v, %v", run, err)
	}
	if _, undo, err = r.Reopen(t.Context(), "run"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Update(t.Context(), "run", func(run *Run) error { run.State = Running; return nil }); err != nil {
		t.Fatal(err)
	}
	if run, err = undo(t.Context()); err != nil || run.State != Running {
		t.Errorf("undone while it runs: %v, %v", run, err)
	}
}

// A watch that ends before it knows everything is not ready, and leaves nobody waiting.
func TestAWatchThatEndsEarly(t *testing.T) {
	r := New(enginetest.Connect(t), engine.DefaultTenant) // there are no buckets
	if err := r.Watch(t.Context(), func() { t.Error("it is ready") }, func(string, *Run) {}); err == nil {
		t.Error("it ended without an error")
	}
	end := time.Now().Add(30 * time.Second)
	for {
		stacks := make([]byte, 1<<20)
		if stacks = stacks[:runtime.Stack(stacks, true)]; !strings.Contains(string(stacks), "(*Runs).Watch") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("it has left\n%s", stacks)
		}
		runtime.Gosched()
	}
}

// A prompt that is sent again under its name begins no second run.
func TestAPromptThatIsSentAgainIsTheSameRun(t *testing.T) {
	r := open(t)
	s := &Submission{Dir: "/", Prompt: Prompt{UUID: "11111111-2222-4333-8444-555555555555", Text: "hi"}}
	first, _, err := r.Submit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if again, _, err := r.Submit(t.Context(), s); again != first || err != nil {
		t.Errorf("sent again, it is the run %s, %v; want %s", again, err, first)
	}
	if list, err := r.Pending(t.Context(), first); err != nil || len(list) != 1 {
		t.Errorf("%d prompts, %v", len(list), err)
	}
	s.Prompt.UUID = ""
	if other, _, err := r.Submit(t.Context(), s); other == first || err != nil {
		t.Errorf("another prompt is the run %s, %v", other, err)
	}
}

package runs_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/engine/enginetest"
	"github.com/haftdev/haft/fleet/internal/runs"
)

func newIndex(t *testing.T, conn *engine.Conn) (*runs.Runs, *runs.Index) {
	t.Helper()
	r := runs.New(conn, engine.DefaultTenant)
	x := runs.NewIndex(r, 0, nil)
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	go x.Keep(ctx, func(err error) { t.Error(err) })
	within(t, "the index to be ready", func() bool {
		_, _, ok := x.Counts()
		return ok
	})
	return r, x
}

func within(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// What a process leaves that is killed between two steps is put right by looking at the runs that may be concerned.
func TestTheIndexFindsWhatWasLeft(t *testing.T) {
	conn := enginetest.Setup(t)
	r, x := newIndex(t, conn)
	begin := func(id string) {
		t.Helper()
		if _, err := r.Begin(t.Context(), &runs.Submission{ID: id, Dir: "/"}); err != nil {
			t.Fatal(err)
		}
	}
	begin("prompted") // whose submitter was killed before it made the task
	if _, err := conn.JS.Publish(t.Context(), fmt.Sprintf("p.%d.default.prompted.u", engine.ShardOf("prompted")), []byte(`{"uuid":"u","text":"go"}`)); err != nil {
		t.Fatal(err)
	}
	begin("led") // whose worker was killed when it had given its task back
	if _, err := r.Update(t.Context(), "led", func(r *runs.Run) error { r.State, r.Owner = runs.Running, "killed"; return nil }); err != nil {
		t.Fatal(err)
	}
	within(t, "both to be put right", func() bool {
		if _, err := x.Sweep(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		tasked, err := r.Tasked(t.Context(), "prompted")
		if err != nil {
			t.Fatal(err)
		}
		led, err := r.Get(t.Context(), "led")
		return err == nil && tasked && led.State == runs.Idle && led.Owner == ""
	})
	if err := r.Delete(t.Context(), "led"); err != nil {
		t.Fatal(err)
	}
	within(t, "the deleted run to be forgotten", func() bool {
		count, _, _ := x.Counts()
		return count[runs.Idle] == 1
	})
}

// Looking for what was left costs the same whether few runs rest or many: nothing is read for those that rest.
func TestRestingRunsCostNothing(t *testing.T) {
	conn := enginetest.Setup(t)
	r, x := newIndex(t, conn)
	cost := func() uint64 {
		t.Helper()
		before := conn.NATS.Stats().InBytes
		for range 10 {
			if _, err := x.Sweep(t.Context(), false); err != nil {
				t.Fatal(err)
			}
		}
		return conn.NATS.Stats().InBytes - before
	}
	for n := range 300 {
		if _, err := r.Begin(t.Context(), &runs.Submission{ID: fmt.Sprint("run", n), Dir: "/"}); err != nil {
			t.Fatal(err)
		}
	}
	within(t, "the index to know all", func() bool {
		count, _, _ := x.Counts()
		return count[runs.Idle] == 300
	})
	if read := cost(); read > 0 {
		t.Errorf("%d bytes were read", read)
	}
}

// Every run is on one page, whatever the size of pages, the one that changed last first, and a state selects.
func TestPagesHaveEveryRunOnce(t *testing.T) {
	conn := enginetest.Setup(t)
	r, x := newIndex(t, conn)
	const all = 25
	for n := range all {
		id := fmt.Sprint("run", n)
		if _, err := r.Begin(t.Context(), &runs.Submission{ID: id, Dir: "/"}); err != nil {
			t.Fatal(err)
		}
		if n%2 == 0 {
			if err := r.Cancel(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	}
	within(t, "the index to know all", func() bool {
		count, _, _ := x.Counts()
		return count[runs.Idle]+count[runs.Cancelled] == all
	})
	for _, limit := range []int{1, 4, 24, 25, 26, 0} {
		for state, want := range map[runs.State]int{"": all, runs.Cancelled: 13, runs.Quarantined: 0} {
			seen := map[string]bool{}
			var last time.Time
			q := &runs.Query{State: state, Limit: limit}
			for {
				list, next, err := r.Page(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				for _, run := range list {
					if seen[run.ID] || !last.IsZero() && run.Updated.After(last) || state != "" && run.State != state {
						t.Errorf("limit %d, state %q: %s (%s, %s) is listed wrongly", limit, state, run.ID, run.State, run.Updated)
					}
					seen[run.ID], last = true, run.Updated
				}
				if limit > 0 && len(list) > limit {
					t.Errorf("a page of %d runs has %d", limit, len(list))
				}
				if q.Before = next; next == "" {
					break
				}
			}
			if len(seen) != want {
				t.Errorf("limit %d, state %q: %d of %d runs are listed", limit, state, len(seen), want)
			}
		}
	}
	if _, _, err := r.Page(t.Context(), &runs.Query{Before: "nonsense"}); err == nil {
		t.Error("a page after nonsense")
	}
}

// An index tells what becomes of runs: how long they wait, how long they are led, and that a worker is replaced.
func TestAnIndexTellsWhatChanges(t *testing.T) {
	conn := enginetest.Setup(t)
	r := runs.New(conn, engine.DefaultTenant)
	changes := make(chan *runs.Change, 100)
	x := runs.NewIndex(r, 0, func(c *runs.Change) { changes <- c })
	go x.Keep(t.Context(), func(err error) { t.Error(err) })
	within(t, "the index to be ready", func() bool {
		_, _, ok := x.Counts()
		return ok
	})
	step := func(state runs.State, owner string) *runs.Change {
		t.Helper()
		if _, err := r.Update(t.Context(), "run", func(r *runs.Run) error { r.State, r.Owner = state, owner; return nil }); err != nil {
			t.Fatal(err)
		}
		return <-changes
	}
	if _, err := r.Begin(t.Context(), &runs.Submission{ID: "run", Dir: "/"}); err != nil {
		t.Fatal(err)
	}
	if c := <-changes; c.Was != "" {
		t.Errorf("%+v", c)
	}
	step(runs.Queued, "")
	time.Sleep(20 * time.Millisecond) // what is measured is time
	if c := step(runs.Running, "a"); c.Waited < 20*time.Millisecond || c.TakenOver {
		t.Errorf("%+v", c)
	}
	step(runs.Asking, "a")
	if c := step(runs.Running, "b"); !c.TakenOver || c.Waited >= 0 {
		t.Errorf("%+v", c)
	}
	if c := step(runs.Idle, ""); c.Led <= 0 || c.Led > time.Minute {
		t.Errorf("%+v", c)
	}
}

package worker

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/engine/enginetest"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/wire"
)

// A question that does not fit into a message is asked nevertheless, and so is its answer given.
func TestALargeQuestion(t *testing.T) {
	conn := enginetest.Setup(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w := &worker{Options: Options{Conn: conn, Tenant: engine.DefaultTenant, Name: "w"}, runs: runs.New(conn, engine.DefaultTenant), hard: ctx}
	l := &leader{worker: w, run: &runs.Run{ID: "run"}}
	logs := journal.New(conn, engine.DefaultTenant, nil)
	var err error
	if l.logs, err = logs.Hold(ctx, "run"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.runs.Begin(ctx, &runs.Submission{ID: "run"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.runs.Update(ctx, "run", func(r *runs.Run) error { r.Owner = "w"; return nil }); err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(map[string]string{"content": strings.Repeat("x", 2<<20)})
	if err != nil {
		t.Fatal(err)
	}
	type answer struct {
		raw json.RawMessage
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		raw, _, err := l.put(ctx, "", &wire.CanUseTool{ToolName: "Write", Title: "Write a file", Input: input, ToolUseID: "call"})
		answered <- answer{raw, err}
	}()
	var list []*runs.Question
	for len(list) == 0 {
		if list, err = w.runs.Questions(ctx); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := logs.Blobs().Get(ctx, list[0].Blob)
	asked := new(wire.CanUseTool)
	if err != nil || json.Unmarshal(raw, asked) != nil || string(asked.Input) != string(input) || list[0].Title != "Write a file" {
		t.Errorf("asked %+v, %v", list[0], err)
	}
	if err := w.runs.Answer(ctx, list[0].ID, runs.Answer{Allow: true, By: "a user", Blob: list[0].Blob}); err != nil {
		t.Fatal(err)
	}
	if got := <-answered; got.err != nil || string(got.raw) != string(raw) {
		t.Errorf("%d bytes of %d came back, %v", len(got.raw), len(raw), got.err)
	}
}

// An answer of any length has an outcome that fits into a message.
func TestALargeOutcome(t *testing.T) {
	for _, text := range []string{strings.Repeat("a", 2<<20), strings.Repeat("\x01", 1<<20), strings.Repeat("€", 300<<10)} {
		raw, err := json.Marshal(outcome(&wire.Result{Result: text}, "w"))
		if err != nil || len(raw) > 900<<10 {
			t.Errorf("%d bytes, %v", len(raw), err)
		}
	}
	if got := outcome(&wire.Result{Result: "short"}, "w").Text; got != "short" {
		t.Errorf("%q", got)
	}
}

// A program that does not listen cannot keep a conversation that has to end.
func TestWritesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer endWith(ctx, ours)()
		cancel()
		synctest.Wait()
		guard := time.AfterFunc(time.Hour, func() { ours.Close() })
		defer guard.Stop()
		if _, err := ours.Write([]byte("text")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("written with %v", err)
		}
	})
}

// A worker that finds an archived run without its journal leaves it as it is.
func TestAnArchivedRunIsNotQuarantined(t *testing.T) {
	conn := enginetest.Setup(t)
	r := runs.New(conn, engine.DefaultTenant)
	l := &leader{worker: &worker{runs: r, hard: t.Context()}, run: &runs.Run{ID: "run"}}
	if _, err := r.Begin(t.Context(), &runs.Submission{ID: "run"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ is, becomes runs.State }{{runs.Cancelled, runs.Quarantined}, {runs.Archived, runs.Archived}} {
		if _, err := r.Update(t.Context(), "run", func(r *runs.Run) error { r.State = c.is; return nil }); err != nil {
			t.Fatal(err)
		}
		if err := l.quarantine("its journal is gone"); err != nil {
			t.Fatal(err)
		}
		if run, err := r.Get(t.Context(), "run"); err != nil || run.State != c.becomes {
			t.Errorf("a run that is %s becomes %s, %v", c.is, run.State, err)
		}
	}
}

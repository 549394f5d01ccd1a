package worker

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
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
	"github.com/haftdev/haft/internal/test/sessiontest"
	"github.com/haftdev/haft/session"
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

// A worker that another one has overtaken settles nothing and leaves the run as it is, whether it learns that when it
// opens the session or has something else to complain about.
func TestAnOvertakenWorkerSettlesNothing(t *testing.T) {
	for name, args := range map[string][]string{"while it opens the session": {"--model=sonnet"}, "with flags that it does not know": {"--from-the-future"}} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			t.Setenv("ANTHROPIC_API_KEY", "none")
			t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
			conn := enginetest.Setup(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			id, prompt := session.NewUUID(), session.NewUUID()
			w := &worker{Options: Options{Conn: conn, Tenant: engine.DefaultTenant, Name: "loser", Dir: t.TempDir(), Attempts: 5, Log: slog.New(slog.DiscardHandler)}, runs: runs.New(conn, engine.DefaultTenant), hard: ctx}
			if _, _, err := w.runs.Submit(ctx, &runs.Submission{ID: id, Dir: t.TempDir(), Args: args, Title: "written at once", Prompt: runs.Prompt{UUID: prompt, Text: "do it"}}); err != nil {
				t.Fatal(err)
			}
			logs := journal.New(conn, engine.DefaultTenant, nil)
			held, err := logs.Hold(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			winner := sessiontest.Create(t, session.OpenLogs(logs, t.TempDir()), &session.CreateOptions{ID: id})
			sessiontest.Add(t, winner, sessiontest.Prompt("do it"))
			sessiontest.Close(t, winner)
			run, err := w.runs.Update(ctx, id, func(r *runs.Run) error { r.State, r.Owner = runs.Running, "loser"; return nil })
			if err != nil {
				t.Fatal(err)
			}
			pending, err := w.runs.Pending(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			l := &leader{worker: w, run: run, logs: held, fresh: true}
			if _, err := l.turns(ctx, pending); !errors.Is(err, session.ErrFenced) {
				t.Errorf("it ends with %v", err)
			}
			if out, err := w.runs.Outcome(ctx, id, prompt); !errors.Is(err, runs.ErrPending) {
				t.Errorf("settled as %+v, %v", out, err)
			}
			if now, err := w.runs.Get(ctx, id); err != nil || now.State != runs.Running || now.Reason != "" {
				t.Errorf("the run is %+v, %v", now, err)
			}
		})
	}
}

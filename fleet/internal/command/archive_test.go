package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/fleet/internal/archive"
	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/engine/enginetest"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/internal/test/sessiontest"
	"github.com/haftdev/haft/session"
)

// A slowStore lets something happen while it writes the main conversation.
type slowStore struct {
	archive.Store
	during func()
}

// Put implements [archive.Store].
func (s slowStore) Put(ctx context.Context, name string, content []byte) (string, error) {
	if strings.HasSuffix(name, ".jsonl") && !strings.Contains(name, "/") {
		s.during()
	}
	return s.Store.Put(ctx, name, content)
}

// An archiving is a run that is being archived.
type archiving struct {
	t    *testing.T
	runs *runs.Runs
	logs *journal.Logs
	ses  *session.Session
	dir  string
}

// restingRun returns one that has an agent.
func restingRun(t *testing.T) *archiving {
	t.Helper()
	conn := enginetest.Setup(t)
	a := &archiving{t, runs.New(conn, engine.DefaultTenant), journal.New(conn, engine.DefaultTenant, nil), nil, t.TempDir()}
	a.ses = sessiontest.Create(t, session.OpenLogs(a.logs, t.TempDir()), &session.CreateOptions{Cwd: t.TempDir()})
	agent := sessiontest.Prompt("for an agent")
	agent.Agent = "one"
	sessiontest.Add(t, a.ses, sessiontest.Prompt("first"), agent)
	if _, err := a.runs.Begin(t.Context(), &runs.Submission{ID: a.ses.ID(), Dir: "/"}); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *archiving) id() string { return a.ses.ID() }

func (a *archiving) get() *runs.Run {
	a.t.Helper()
	run, err := a.runs.Get(a.t.Context(), a.id())
	if err != nil {
		a.t.Fatal(err)
	}
	return run
}

// seal seals the run while something happens.
func (a *archiving) seal(during func()) (*runs.Run, error) {
	a.t.Helper()
	folder, err := archive.Open(a.dir, os.Getenv)
	if err != nil {
		a.t.Fatal(err)
	}
	return sealRun(a.t.Context(), a.runs, a.logs, a.get(), slowStore{folder, during})
}

func (a *archiving) submit() (prompt string) {
	a.t.Helper()
	_, prompt, err := a.runs.Submit(a.t.Context(), &runs.Submission{ID: a.id(), Prompt: runs.Prompt{Text: "second"}})
	if err != nil {
		a.t.Fatal(err)
	}
	return prompt
}

// A whole turn is run while the archive is written: the run looks as before, but is another.
func TestATurnIsNotLostWhileItsRunIsArchived(t *testing.T) {
	a := restingRun(t)
	_, err := a.seal(func() {
		prompt := a.submit()
		for _, state := range []runs.State{runs.Running, runs.Idle} {
			if _, err := a.runs.Update(t.Context(), a.id(), func(r *runs.Run) error { r.State = state; return nil }); err != nil {
				t.Fatal(err)
			}
		}
		sessiontest.Add(t, a.ses, sessiontest.Prompt("second"))
		if err := a.runs.Settle(t.Context(), a.id(), prompt, &runs.Outcome{Text: "done"}); err != nil {
			t.Fatal(err)
		}
	})
	if err == nil || !strings.Contains(err.Error(), "Try again") {
		t.Errorf("archived: %v", err)
	}
	if text, err := a.logs.Text(t.Context(), a.id(), ""); err != nil || !strings.Contains(string(text), "second") || a.get().State != runs.Idle {
		t.Errorf("the run is %s, its journal %s, %v", a.get().State, text, err)
	}
	// Which is what to do.
	if _, err := a.seal(func() {}); err != nil {
		t.Errorf("archived again: %v", err)
	}
}

// A prompt that comes while the archive is written gets an outcome, and a later one is refused.
func TestAPromptThatComesTooLateIsAnswered(t *testing.T) {
	a := restingRun(t)
	var prompt string
	if _, err := a.seal(func() { prompt = a.submit() }); err != nil {
		t.Fatal(err)
	}
	if err := settleArchived(t.Context(), a.runs, a.id()); err != nil {
		t.Fatal(err)
	}
	if out, err := a.runs.Outcome(t.Context(), a.id(), prompt); err != nil || !out.IsError || out.Reason != "archived" {
		t.Errorf("its outcome is %+v, %v", out, err)
	}
	if _, _, err := a.runs.Submit(t.Context(), &runs.Submission{ID: a.id(), Prompt: runs.Prompt{Text: "third"}}); err == nil {
		t.Error("an archived run takes a prompt")
	}
}

// A journal is deleted only if the archive has all of it: also what was written after it was sealed,
// and the conversations of agents.
func TestAJournalThatIsNotInTheArchiveStays(t *testing.T) {
	a := restingRun(t)
	run, err := a.seal(func() {})
	if err != nil {
		t.Fatal(err)
	}
	purge := func() error { return purgeArchived(t.Context(), a.logs, a.id(), run.Archive, run.Digest) }
	file := filepath.Join(a.dir, a.id(), "subagents", "agent-one.jsonl")
	sealed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"", string(sealed) + "{}\n"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := purge(); err == nil {
			t.Errorf("deleted, with an archive of the agent's conversation that is %q", content)
		}
	}
	if err := errors.Join(os.Remove(file), purge()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("deleted, without an archive of the agent's conversation: %v", err)
	}
	if err := os.WriteFile(file, sealed, 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := a.logs.Text(t.Context(), a.id(), "one"); err != nil || string(text) != string(sealed) {
		t.Errorf("the journal has %q, %v", text, err)
	}
	if err := purge(); err != nil {
		t.Error(err)
	}
	if text, err := a.logs.Text(t.Context(), a.id(), "one"); err != nil || len(text) > 0 {
		t.Errorf("the journal still has %q, %v", text, err)
	}
	if err := purge(); err != nil {
		t.Errorf("what was done is not done again: %v", err)
	}
	late := restingRun(t)
	if run, err = late.seal(func() {}); err != nil {
		t.Fatal(err)
	}
	sessiontest.Add(t, late.ses, sessiontest.Prompt("late"))
	if err := purgeArchived(t.Context(), late.logs, late.id(), run.Archive, run.Digest); err == nil {
		t.Error("a journal that has more than its archive was deleted")
	}
}

// A run that was cancelled is not archived while its worker still has the task: it is storing files.
func TestARunIsArchivedWhenItsWorkerHasEnded(t *testing.T) {
	conn := enginetest.Setup(t)
	r := runs.New(conn, engine.DefaultTenant)
	id, _, err := r.Submit(t.Context(), &runs.Submission{Dir: "/", Prompt: runs.Prompt{Text: "hello"}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := conn.Consumer(t.Context(), "test", runs.Tasks(runs.AnyWorker, runs.Normal), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Next()
	if err == nil {
		err = r.Cancel(t.Context(), id)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := awaitRest(t.Context(), r, id, 0); err == nil || !strings.Contains(err.Error(), "Try again when a worker") {
		t.Errorf("it is at rest while a worker has its task: %v", err)
	}
	rested := make(chan error, 1)
	go func() { rested <- awaitRest(t.Context(), r, id, time.Minute) }()
	if err := m.DoubleAck(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-rested; err != nil {
		t.Error(err)
	}
}

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/engine/enginetest"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/test/sessiontest"
	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// open returns the backend of a fleet without workers.
func open(t *testing.T) *Backend {
	t.Helper()
	conn := enginetest.Setup(t)
	b, err := Open(t.Context(), &Options{Conn: conn, Tenant: engine.DefaultTenant, Dir: t.TempDir(), Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// eventually waits until something is true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); {
		if time.Now().After(end) {
			t.Fatalf("it did not happen: %s", what)
		}
		_ = engine.Pause(t.Context(), 5*time.Millisecond)
	}
}

func TestALargePromptIsABlob(t *testing.T) {
	b := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := b.Create(ctx, "run", &serve.NewSession{Cwd: "/"}); err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("long ", 1<<19)
	m := &wire.User{UUID: "prompt"}
	m.Message.Content.Text = text
	if _, err := b.Prompt(ctx, "run", m); err != nil {
		t.Fatal(err)
	}
	list, err := b.runs.Pending(ctx, "run")
	if err != nil || len(list) != 1 || list[0].Text != "" {
		t.Fatalf("%d prompts, %v", len(list), err)
	}
	raw, err := b.logs.Blobs().Get(ctx, list[0].Blob)
	var got string
	if err != nil || json.Unmarshal(raw, &got) != nil || got != text {
		t.Errorf("kept %d bytes, %v", len(raw), err)
	}
}

// Flags that do not fit into a message are refused, and the run rests as before.
func TestLargeFlagsAreRefused(t *testing.T) {
	b := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := b.Create(ctx, "run", &serve.NewSession{Cwd: "/"}); err != nil {
		t.Fatal(err)
	}
	err := b.submit(ctx, &runs.Submission{ID: "run", Dir: "/", Prompt: runs.Prompt{Connect: "nowhere", Args: []string{strings.Repeat("x", 2<<20)}}})
	if !errors.Is(err, runs.ErrTooLarge) {
		t.Errorf("submitted with %v", err)
	}
	if run, err := b.runs.Get(ctx, "run"); err != nil || run.State != runs.Idle {
		t.Errorf("the run is %v, %v", run, err)
	}
	if b.Status("run", "").Working {
		t.Error("the run is shown at work")
	}
}

// A session that is renamed after its worker was lost still has the files of its last result.
func TestARenamedSessionKeepsItsFiles(t *testing.T) {
	b := open(t)
	ctx := t.Context()
	s, err := b.sessions().Create(ctx, &session.CreateOptions{Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []session.Entry{
		{Message: &session.Message{Role: model.User, Content: []model.Block{{Type: model.Text, Text: "hi"}}}},
		{State: &session.State{Name: session.StateFiles, Value: json.RawMessage(`{"call":"before"}`)}},
		{Message: &session.Message{Role: model.Assistant, Content: []model.Block{{Type: model.ToolUse, ID: "a", Name: "Bash", Input: json.RawMessage(`{}`)}}}},
		{Call: &session.Call{Step: session.Dispatched, ID: "id-a", UseID: "a", Tool: "Bash", Effect: tool.Unsafe}},
	} {
		if err := s.Append(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Create(ctx, s.ID(), &serve.NewSession{Cwd: "/", Workspace: &serve.Workspace{Repository: "/repository"}}); err != nil {
		t.Fatal(err)
	}
	if err := b.Call(ctx, s.ID(), &wire.RenameSession{Title: "new name"}, nil); err != nil {
		t.Fatal(err)
	}
	held, err := b.logs.Hold(ctx, s.ID())
	if err != nil {
		t.Fatal(err)
	}
	if call, err := held.Unstored(ctx, session.StateFiles); call != "" || err != nil {
		t.Errorf("the call %q has no files, %v", call, err)
	}
	again, err := b.sessions().Resume(ctx, s.ID(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Restored(); string(got.States["title"]) != `"new name"` || string(got.States[session.StateFiles]) != `{"call":"before"}` {
		t.Errorf("the journal says %s", got.States)
	}
}

// A fork works where its first run does.
func TestAForkStaysOnItsHost(t *testing.T) {
	b := open(t)
	ctx := t.Context()
	s, err := b.sessions().Create(ctx, &session.CreateOptions{Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(ctx, session.Entry{Message: &session.Message{Role: model.User, Content: []model.Block{{Type: model.Text, Text: "hi"}}}}); err != nil {
		t.Fatal(err)
	}
	if err := b.Create(ctx, s.ID(), &serve.NewSession{Cwd: "/"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.runs.Update(ctx, s.ID(), func(r *runs.Run) error { r.Host = "host-a"; return nil }); err != nil {
		t.Fatal(err)
	}
	fork, err := b.Fork(ctx, s.ID(), "")
	if err != nil {
		t.Fatal(err)
	}
	if run, err := b.runs.Get(ctx, fork); err != nil || run.Host != "host-a" || run.Class != runs.OnHost("host-a") {
		t.Errorf("the fork is %+v, %v", run, err)
	}
}

// A fork begins with the files of its run, which stay in the store when that is deleted. A run that
// was archived while it was forked has no fork: its files may be gone.
func TestAForkKeepsTheFiles(t *testing.T) {
	b := open(t)
	ctx := t.Context()
	s := sessiontest.Create(t, b.sessions(), &session.CreateOptions{Cwd: t.TempDir()})
	pack := blob.Digest([]byte("a pack"))
	if err := b.logs.Files(s.ID()).Put(ctx, pack, []byte("a pack")); err != nil {
		t.Fatal(err)
	}
	sessiontest.Add(t, s, session.Entry{State: &session.State{Name: session.StateFiles, Value: json.RawMessage(`{"packs":["` + pack + `"]}`)}}, sessiontest.Prompt("hi"))
	if err := b.Create(ctx, s.ID(), &serve.NewSession{Cwd: "/"}); err != nil {
		t.Fatal(err)
	}
	fork, err := b.Fork(ctx, s.ID(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(ctx, s.ID()); err != nil {
		t.Fatal(err)
	}
	gone := func(run string) (bool, error) {
		_, err := b.runs.Get(ctx, run)
		return errors.Is(err, runs.ErrNotFound), nil
	}
	if freed, err := b.logs.Collect(ctx, gone); err != nil || freed.Objects != 0 {
		t.Errorf("removed %+v, %v", freed, err)
	}
	if _, err := b.runs.Update(ctx, fork, func(r *runs.Run) error { r.State = runs.Archived; return nil }); err != nil {
		t.Fatal(err)
	}
	if second, err := b.Fork(ctx, fork, ""); err == nil {
		t.Errorf("an archived run was forked as %s", second)
	}
	if err := b.Delete(ctx, fork); err == nil {
		t.Error("an archived run was deleted")
	}
	if err := b.logs.Delete(ctx, fork); err != nil {
		t.Fatal(err)
	}
	// Neither is the journal of the fork that was not begun left.
	if freed, err := b.logs.Collect(ctx, gone); err != nil || freed.Objects != 1 {
		t.Errorf("removed %+v, %v", freed, err)
	}
}

// A program that gives up before a worker has come is not waited for.
func TestAProgramGivesUp(t *testing.T) {
	b := open(t)
	ours, theirs := net.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.Speak(t.Context(), &serve.Launching{Dir: "/", Args: []string{"-p", "--input-format=stream-json", "--output-format=stream-json", "--verbose", "--session-id=11111111-1111-4111-8111-111111111111"}}, ours)
	}()
	if _, err := theirs.Write([]byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it waits for a worker", func() bool {
		list, err := b.runs.Pending(t.Context(), "11111111-1111-4111-8111-111111111111")
		return err == nil && len(list) == 1
	})
	theirs.Close()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("it still waits for a worker")
	}
}

// What a program says before a worker has come is not lost, not even if it is all.
func TestWhatWasSaidAheadIsHeard(t *testing.T) {
	text := bytes.Repeat([]byte("line\n"), 1<<20)
	said, gone := readAhead(t.Context(), bytes.NewReader(text))
	var got bytes.Buffer
	if _, err := got.ReadFrom(said); err != nil || !bytes.Equal(got.Bytes(), text) {
		t.Errorf("heard %d bytes of %d, %v", got.Len(), len(text), err)
	}
	<-gone.Done()
}

// Nothing is kept here of runs that were archived or deleted.
func TestCopiesAreForgotten(t *testing.T) {
	b := open(t)
	for name, leave := range map[string]func(id string) error{
		"archived": func(id string) error {
			_, err := b.runs.Update(t.Context(), id, func(r *runs.Run) error { r.State = runs.Archived; return nil })
			return err
		},
		"deleted": func(id string) error { return b.runs.Delete(t.Context(), id) }, // by another server
	} {
		s := sessiontest.Create(t, b.sessions(), &session.CreateOptions{Cwd: t.TempDir()})
		sessiontest.Add(t, s, sessiontest.Prompt("text"))
		sessiontest.Close(t, s)
		if err := b.Create(t.Context(), s.ID(), &serve.NewSession{Cwd: "/"}); err != nil {
			t.Fatal(err)
		}
		if err := b.Refresh(t.Context(), s.ID()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(b.mirror.Path(s.ID())); err != nil {
			t.Fatal(err)
		}
		if err := leave(s.ID()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the copy of what was "+name+" is gone", func() bool {
			b.mu.Lock()
			_, noted := b.grown[s.ID()]
			b.mu.Unlock()
			_, err := os.Stat(b.mirror.Path(s.ID()))
			return !noted && os.IsNotExist(err)
		})
	}
}

// A watcher hears a large question whole, and one that it has dealt with is not kept.
func TestAWatcherIsAsked(t *testing.T) {
	b := open(t)
	if err := b.Create(t.Context(), "run", &serve.NewSession{Cwd: "/"}); err != nil {
		t.Fatal(err)
	}
	large, err := json.Marshal(&wire.CanUseTool{ToolName: "Write", ToolUseID: "call", Input: json.RawMessage(`"` + strings.Repeat("x", 2<<20) + `"`)})
	if err != nil {
		t.Fatal(err)
	}
	q := &runs.Question{Run: "run", Tool: "Write", Blob: blob.Digest(large)}
	if err := b.logs.Blobs().Put(t.Context(), q.Blob, large); err != nil {
		t.Fatal(err)
	}
	heard, answered := make(chan wire.Request, 1), make(chan *runs.Answer, 1)
	b.Watch(t.Context(), "run", serve.Watcher{Poke: func() {}, Tell: func(wire.Message) {}, Ask: func(_ context.Context, r wire.Request, settle func(any) error) {
		heard <- r
		if err := settle(&wire.PermissionAnswer{Behavior: wire.BehaviorAllow, UpdatedInput: r.(*wire.CanUseTool).Input}); err != nil {
			t.Error(err)
		}
	}})
	go func() {
		a, err := b.runs.Ask(t.Context(), q, "call")
		if err != nil {
			t.Error(err)
		}
		answered <- a
	}()
	if r, ok := (<-heard).(*wire.CanUseTool); !ok || len(r.Input) != 2<<20+2 {
		t.Errorf("asked %T", r)
	}
	raw, err := (<-answered).JSON(t.Context(), b.logs.Blobs(), "")
	if err != nil || len(raw) < 2<<20 {
		t.Errorf("the answer has %d bytes, %v", len(raw), err)
	}
	eventually(t, "the question is not kept", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		for w := range b.watchers {
			if len(w.asked) > 0 {
				return false
			}
		}
		return true
	})
}

// A question whose watcher has dealt with it can be put to it again, also if nobody says
// meanwhile that it is settled.
func TestAQuestionThatEndedIsNotKept(t *testing.T) {
	b := open(t)
	b.Watch(t.Context(), "run", serve.Watcher{Poke: func() {}, Tell: func(wire.Message) {}, Ask: func(context.Context, wire.Request, func(any) error) {}})
	b.noteQuestion("run.call", &runs.Question{ID: "run.call", Run: "run"})
	eventually(t, "the question is not kept", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		for w := range b.watchers {
			return w.asked["run.call"] == nil
		}
		return false
	})
}

// A session may work on a repository instead of a folder; what cannot be one is refused at once, and
// a fork begins with the same files and pushes nothing.
func TestASessionOnARepository(t *testing.T) {
	b := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := b.Create(ctx, "run", &serve.NewSession{Workspace: &serve.Workspace{Repository: "https://example.com/x.git", Ref: "main", Push: "result"}}); err != nil {
		t.Fatal(err)
	}
	run, err := b.runs.Get(ctx, "run")
	if err != nil || run.Workspace == nil || run.Workspace.Push != "result" || run.Dir != "git+https://example.com/x.git@main" {
		t.Errorf("the run is %+v, %v", run, err)
	}
	if c := run.Workspace.Copy(); c.Repository != run.Workspace.Repository || c.Push != "" {
		t.Errorf("a fork has %+v", c)
	}
	for _, w := range []serve.Workspace{{Repository: "ext::sh"}, {Repository: "/x", Ref: "--bad"}, {Repository: "/x", Push: "refs/heads/main"}} {
		err := b.Create(ctx, "other", &serve.NewSession{Workspace: &w})
		var p *serve.Problem
		if !errors.As(err, &p) || p.Code != "invalid" {
			t.Errorf("%+v: %v", w, err)
		}
	}
}

// A deletion that was cut off after the journal is finished by the next one, and a journal is
// deleted even if the client goes away.
func TestADeletionThatWasCutOffIsFinished(t *testing.T) {
	b := open(t)
	s := sessiontest.Create(t, b.sessions(), &session.CreateOptions{Cwd: t.TempDir()})
	sessiontest.Add(t, s, sessiontest.Prompt("secret words"))
	if err := b.Create(t.Context(), s.ID(), &serve.NewSession{Cwd: "/"}); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.logs.Delete(gone, s.ID()); err != nil {
		t.Error(err)
	}
	if text, err := b.logs.Text(t.Context(), s.ID(), ""); err != nil || len(text) > 0 {
		t.Errorf("the journal has %q, %v", text, err)
	}
	if err := b.Delete(t.Context(), s.ID()); err != nil {
		t.Error(err)
	}
	if _, err := b.runs.Get(t.Context(), s.ID()); !errors.Is(err, runs.ErrNotFound) {
		t.Errorf("the run is still there: %v", err)
	}
}

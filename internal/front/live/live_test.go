//go:build unix

package live_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/front/live"
	"github.com/haftdev/haft/internal/front/timeline"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// A stage is a conversation with a scripted model and a user who never answers.
type stage struct {
	talk *harness.Conversation
	dir  string
	done chan struct{} // closed when no more turns run
	stop func()

	mu      sync.Mutex
	results []agent.Result
	ended   chan struct{} // gets a token for each turn that ended
}

func newStage(t *testing.T, person sched.Asker, turns ...script.Turn) *stage {
	t.Helper()
	return newStageOf(t, harness.Options{}, harness.TalkOptions{Person: person}, func(string) *script.Scenario { return &script.Scenario{Turns: turns} })
}

// newStageOf is newStage with more options, and a scenario for its folder.
func newStageOf(t *testing.T, o harness.Options, talk harness.TalkOptions, scenario func(dir string) *script.Scenario) *stage {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("HAFT_HOME", filepath.Join(home, ".haft"))
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(home, ".claude"))
	s := &stage{dir: t.TempDir(), done: make(chan struct{}), ended: make(chan struct{}, 16)}
	server, err := script.Serve(&script.Options{Scenario: scenario(s.dir)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	o.Dir = s.dir
	w, err := harness.Open(&o)
	if err != nil {
		t.Fatal(err)
	}
	talk.Client, talk.Model, talk.Interactive, talk.Watch = anthropic.New(&anthropic.Options{BaseURL: server.URL(), Key: "k"}), "claude-opus-5-5", true, live.Open("test")
	s.talk, err = w.Talk(t.Context(), &talk)
	if err != nil {
		t.Fatal(err)
	}
	release := s.talk.Agent.Hold()
	go func() {
		defer close(s.done)
		for ev, err := range s.talk.Run(t.Context()) {
			if r, ok := ev.(agent.Result); ok && err == nil {
				s.mu.Lock()
				s.results = append(s.results, r)
				s.mu.Unlock()
				s.ended <- struct{}{}
			}
		}
	}()
	s.stop = sync.OnceFunc(func() {
		release()
		<-s.done
		if err := s.talk.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(s.stop)
	return s
}

// silent is a user who never answers.
func silent(ctx context.Context, _ tool.Case, _ tool.Verdict) (tool.Verdict, error) {
	<-ctx.Done()
	return tool.Verdict{}, ctx.Err()
}

// A watcher is an observer of the test.
type watcher struct {
	*wire.Conn
	reply wire.ObserveReply
	end   func() error
	ran   chan struct{}

	mu   sync.Mutex
	seen []wire.Message
}

func watch(t *testing.T, s *stage, r *wire.Observe, handle wire.Handler) *watcher {
	t.Helper()
	var conn *live.Conn
	wait(t, "the socket", func() bool {
		var err error
		conn, err = live.Dial(t.Context(), s.talk.Journal().Path())
		return err == nil
	})
	w := &watcher{Conn: wire.NewConn(conn, &wire.ConnOptions{Handle: handle}), end: conn.Close, ran: make(chan struct{})}
	t.Cleanup(func() { conn.Close() })
	go func() {
		defer close(w.ran)
		_ = w.Run(t.Context(), func(m wire.Message) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.seen = append(w.seen, m)
		})
	}()
	if err := w.Call(t.Context(), r, &w.reply); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *watcher) has(f func(wire.Message) bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.seen {
		if f(m) {
			return true
		}
	}
	return false
}

func wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for %s", what)
		}
	}
}

func say(s *stage, text string) {
	s.talk.Send(agent.Prompt{Content: []model.Block{model.TextOf(text)}})
}

func writeCall(path string) script.Turn {
	input, _ := json.Marshal(map[string]string{"file_path": path, "content": "hello\n"})
	return script.Turn{Blocks: []script.Block{{Tool: "Write", Input: input}}}
}

var over = script.Turn{Blocks: []script.Block{{Text: "It is done."}}}

// Two observers are asked; the first answer counts, the other question is taken back, and
// the journal says who answered.
func TestTheFirstAnswerCounts(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "a.txt")
	s := newStage(t, sched.AskerFunc(silent), writeCall(target), over)
	asked, taken := make(chan *wire.CanUseTool, 1), make(chan error, 1)
	say(s, "write it")
	watch(t, s, &wire.Observe{Name: "the slow one", Answers: true}, func(ctx context.Context, r wire.Request) (any, error) {
		asked <- r.(*wire.CanUseTool)
		<-ctx.Done()
		taken <- context.Cause(ctx)
		return nil, ctx.Err()
	})
	q := <-asked
	if q.ToolName != "Write" || q.Change == nil || len(q.Change.Files) != 1 {
		t.Errorf("asked %+v", q)
	}
	// The second one comes while the question is open.
	second := watch(t, s, &wire.Observe{Name: "the quick one", Answers: true}, func(_ context.Context, r wire.Request) (any, error) {
		return wire.PermissionAnswer{Behavior: wire.BehaviorAllow}, nil
	})
	<-s.ended
	if <-taken == nil {
		t.Error("the other question was not taken back")
	}
	if raw, err := os.ReadFile(target); err != nil || string(raw) != "hello\n" {
		t.Errorf("the file has %q, %v", raw, err)
	}
	wait(t, "the answer on the wire", func() bool {
		return second.has(func(m wire.Message) bool {
			a, ok := m.(*wire.QuestionAnswered)
			return ok && a.By == "the quick one" && a.Behavior == "allow"
		})
	})
	v, err := timeline.Load(t.Context(), s.talk.Journal().Path())
	if err != nil {
		t.Fatal(err)
	}
	var call *timeline.Call
	for _, i := range v.Items(0, 100) {
		if i.Call != nil {
			call = i.Call
		}
	}
	if call == nil || call.State != timeline.Done || call.By != "the quick one" || call.Asked == 0 || call.Answered < call.Asked || call.Started < call.Answered || call.Ended < call.Started || len(call.Files) != 1 {
		t.Errorf("the timeline has %+v", call)
	}
}

// A user at the terminal who answers first is the one that counts.
func TestTheTerminalMayAnswerFirst(t *testing.T) {
	answer := make(chan struct{})
	person := sched.AskerFunc(func(ctx context.Context, _ tool.Case, _ tool.Verdict) (tool.Verdict, error) {
		<-answer
		return tool.Verdict{Behavior: tool.Deny, Message: "no"}, nil
	})
	s := newStage(t, person, writeCall(filepath.Join(t.TempDir(), "a.txt")), over)
	taken := make(chan struct{})
	say(s, "write it")
	w := watch(t, s, &wire.Observe{Answers: true}, func(ctx context.Context, _ wire.Request) (any, error) {
		close(answer)
		<-ctx.Done()
		close(taken)
		return nil, ctx.Err()
	})
	<-taken
	<-s.ended
	wait(t, "who answered", func() bool {
		return w.has(func(m wire.Message) bool {
			a, ok := m.(*wire.QuestionAnswered)
			return ok && a.By == "the terminal" && a.Behavior == "deny"
		})
	})
}

// An observer sends a prompt, sees the pieces of the answer and the answer, and resumes at a
// position without anything coming twice.
func TestObserversPromptAndResume(t *testing.T) {
	s := newStage(t, sched.AskerFunc(silent), over, over)
	say(s, "first")
	<-s.ended
	w := watch(t, s, &wire.Observe{}, nil)
	if w.reply.SessionID != s.talk.Agent.Session() || w.reply.PID != os.Getpid() || w.reply.Cwd != s.dir {
		t.Errorf("observe was answered with %+v", w.reply)
	}
	if err := w.Send(&wire.User{Message: wire.UserMessage{Role: "user", Content: wire.Content{Blocks: []wire.Block{wire.Text("second")}}}}); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	wait(t, "a piece of the answer", func() bool {
		return w.has(func(m wire.Message) bool { _, ok := m.(*wire.StreamEvent); return ok })
	})
	wait(t, "the result", func() bool {
		return w.has(func(m wire.Message) bool { _, ok := m.(*wire.Result); return ok })
	})
	wait(t, "both answers", func() bool { return len(w.uuids()) >= 4 && len(w.positions()) > 0 })
	all, at := w.uuids(), w.positions()
	for _, from := range append(at, "end") {
		again := watch(t, s, &wire.Observe{From: from}, nil)
		say(s, "mark")
		wait(t, "what comes", func() bool { return len(again.uuids()) > 0 })
		for _, id := range again.uuids() {
			if from == at[len(at)-1] || from == "end" {
				for _, known := range all {
					if id == known {
						t.Errorf("from %s: %s came again", from, id)
					}
				}
			}
		}
		again.end()
	}
}

// uuids are those of the messages of the conversation.
func (w *watcher) uuids() (ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.seen {
		switch m := m.(type) {
		case *wire.User:
			ids = append(ids, m.UUID)
		case *wire.Assistant:
			ids = append(ids, m.UUID)
		}
	}
	return ids
}

func (w *watcher) positions() (list []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.seen {
		if p, ok := m.(*wire.JournalPosition); ok {
			list = append(list, p.Position)
		}
	}
	return list
}

func TestObserversInterruptAndChangeTheMode(t *testing.T) {
	s := newStage(t, sched.AskerFunc(silent), writeCall(filepath.Join(t.TempDir(), "a.txt")), over)
	say(s, "write it")
	asked := make(chan struct{})
	w := watch(t, s, &wire.Observe{Answers: true}, func(ctx context.Context, _ wire.Request) (any, error) {
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	<-asked
	var mode wire.SetPermissionModeReply
	if err := w.Call(t.Context(), &wire.SetPermissionMode{Mode: "acceptEdits"}, &mode); err != nil || mode.Mode != "acceptEdits" {
		t.Errorf("set the mode: %v, %+v", err, mode)
	}
	if err := w.Call(t.Context(), &wire.Interrupt{}, nil); err != nil {
		t.Error(err)
	}
	<-s.ended
	if got := s.results[0].Reason; got != agent.AbortedTools {
		t.Errorf("the turn ended with %s", got)
	}
	wait(t, "the withdrawn question", func() bool {
		return w.has(func(m wire.Message) bool { a, ok := m.(*wire.QuestionAnswered); return ok && a.By == "" })
	})
}

// An interrupt that names a prompt leaves the turn of another one alone, and stops its own.
func TestObserversInterruptAPromptByName(t *testing.T) {
	const own, other = "0c0ffee0-0000-4000-8000-00000000000a", "0c0ffee0-0000-4000-8000-00000000000b"
	for named, want := range map[string]agent.Reason{own: agent.AbortedTools, other: agent.Completed} {
		s := newStage(t, sched.AskerFunc(silent), writeCall(filepath.Join(t.TempDir(), "a.txt")), over)
		p := agent.Typed("write it")
		p.UUID = own
		s.talk.Send(p)
		asked, told := make(chan struct{}), make(chan struct{})
		w := watch(t, s, &wire.Observe{Answers: true}, func(ctx context.Context, _ wire.Request) (any, error) {
			close(asked)
			<-told
			return wire.PermissionAnswer{Behavior: wire.BehaviorAllow}, ctx.Err()
		})
		<-asked
		for uuid, running := range map[string]bool{own: true, other: false} {
			var reply wire.CancelAsyncMessageReply
			if err := w.Call(t.Context(), &wire.CancelAsyncMessage{MessageUUID: uuid}, &reply); err != nil || reply.Cancelled || reply.Running != running {
				t.Errorf("cancel %s: %v, %+v", uuid, err, reply)
			}
		}
		if err := w.Call(t.Context(), &wire.Interrupt{MessageUUID: named}, nil); err != nil {
			t.Error(err)
		}
		close(told)
		<-s.ended
		if got := s.results[0].Reason; got != want {
			t.Errorf("after an interrupt of %s, the turn ended with %s", named, got)
		}
	}
}

// The socket is the user's alone, and is gone with the session.
func TestTheSocketIsPrivateAndGoesAway(t *testing.T) {
	s := newStage(t, sched.AskerFunc(silent), over)
	say(s, "first")
	<-s.ended
	w := watch(t, s, &wire.Observe{}, nil)
	notice := filepath.Join(s.talk.Journal().Dir(), "live.json")
	var where struct{ Socket string }
	raw, err := os.ReadFile(notice)
	if err != nil || json.Unmarshal(raw, &where) != nil {
		t.Fatal(err)
	}
	for _, path := range []string{where.Socket, filepath.Dir(where.Socket), notice} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
	}
	s.stop()
	<-w.ran
	for _, path := range []string{where.Socket, notice} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
	if _, err := live.Dial(t.Context(), s.talk.Journal().Path()); !errors.Is(err, live.ErrNotRunning) {
		t.Errorf("Dial after the end: %v", err)
	}
}

func TestNothingIsServedBeforeObserve(t *testing.T) {
	s := newStage(t, sched.AskerFunc(silent), over)
	say(s, "first")
	<-s.ended
	var conn *live.Conn
	wait(t, "the socket", func() bool {
		var err error
		conn, err = live.Dial(t.Context(), s.talk.Journal().Path())
		return err == nil
	})
	defer conn.Close()
	w := wire.NewConn(conn, nil)
	go w.Run(t.Context(), func(m wire.Message) { t.Errorf("told %T", m) })
	if err := w.Call(t.Context(), &wire.Interrupt{}, nil); err == nil {
		t.Error("an interrupt was taken before observe")
	}
	if err := w.Call(t.Context(), &wire.Observe{From: "nowhere"}, nil); err == nil {
		t.Error("a position that means nothing was taken")
	}
}

// Those who watch are told that the conversation went back, and to where.
func TestObserversHearOfGoingBack(t *testing.T) {
	for prompt, want := range map[string]string{
		"fix the bug\nand more": `The conversation was returned to the message "fix the bug…". Later messages no longer count.`,
		"":                      "The conversation was returned to an earlier message. Later messages no longer count.",
	} {
		list := live.Messages("s", &session.Entry{UUID: session.NewUUID(), Back: &session.Back{Prompt: prompt}})
		if len(list) != 1 {
			t.Fatalf("%d messages", len(list))
		}
		if m, ok := list[0].(*wire.Informational); !ok || m.Content != want {
			t.Errorf("after going back to %q: %+v", prompt, list[0])
		}
	}
}

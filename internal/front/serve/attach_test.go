package serve_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/front/serve/attach"
	"github.com/haftdev/haft/internal/front/serve/servetest"
	"github.com/haftdev/haft/wire"
)

// attached is the end of 'haft attach URL' without a screen.
type attached struct {
	t     testing.TB
	conn  *wire.Conn
	asked chan *question
	heard chan wire.Message
	reply wire.ObserveReply
	over  chan struct{}
}

// A question is one that the terminal shows.
type question struct {
	ctx     context.Context
	request wire.Request
	answers chan any
}

// attach attaches a terminal to a session.
func (s *site) attach(id, from string) *attached {
	s.t.Helper()
	server := &attach.Server{URL: s.url, Token: token}
	row, err := server.Find(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	stream := server.Open(context.Background(), row)
	s.t.Cleanup(func() { stream.Close() })
	a := &attached{t: s.t, asked: make(chan *question, 8), heard: make(chan wire.Message, 4096), over: make(chan struct{})}
	a.conn = wire.NewConn(stream, &wire.ConnOptions{Handle: func(ctx context.Context, r wire.Request) (any, error) {
		q := &question{ctx, r, make(chan any, 1)}
		a.asked <- q
		select {
		case answer := <-q.answers:
			return answer, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}})
	go func() {
		defer close(a.over)
		_ = a.conn.Run(context.Background(), func(m wire.Message) { a.heard <- m })
	}()
	if err := a.conn.Call(s.t.Context(), &wire.Observe{From: from, Answers: true}, &a.reply); err != nil {
		s.t.Fatal(err)
	}
	return a
}

// hear reads to a message for which holds.
func (a *attached) hear(what string, holds func(wire.Message) bool) wire.Message {
	a.t.Helper()
	limit := time.After(30 * time.Second)
	for {
		select {
		case m := <-a.heard:
			if holds(m) {
				return m
			}
		case <-limit:
			a.t.Fatalf("%s was not heard", what)
		}
	}
}

// question waits for one.
func (a *attached) question() *question {
	a.t.Helper()
	select {
	case q := <-a.asked:
		return q
	case <-time.After(30 * time.Second):
		a.t.Fatal("nothing was asked")
		return nil
	}
}

func (a *attached) says(text string) {
	a.t.Helper()
	if err := a.conn.Send(&wire.User{UUID: "0c0ffee0-0000-4000-8000-00000000000" + text[:1], Message: wire.UserMessage{Role: "user", Content: wire.Content{Blocks: []wire.Block{wire.Text(text)}}}}); err != nil {
		a.t.Fatal(err)
	}
}

func isResult(text string) func(wire.Message) bool {
	return func(m wire.Message) bool {
		r, ok := m.(*wire.Result)
		return ok && r.Result == text
	}
}

// Two terminals and a program watch one session of a server. Each sees the question; the
// first answer counts, the other terminal's question is taken back, and both hear who
// answered. A prompt of one is heard by the other.
func TestTwoTerminalsAttached(t *testing.T) {
	servetest.Home(t)
	dir := t.TempDir()
	target := filepath.Join(dir, "a.txt")
	s := startSite(t, servetest.Scripted(t, servetest.Writes(target, "hello\n"), servetest.Says("Written."), servetest.Says("More.")), "127.0.0.1:0")
	s.dir = dir
	row := s.create("write it")
	one, two := s.attach(row.ID[:8], ""), s.attach(row.ID, "")
	if one.reply.SessionID != row.ID || one.reply.Cwd != dir || one.reply.PID != os.Getpid() {
		t.Errorf("attached to %+v", one.reply)
	}
	first, second := one.question(), two.question()
	if q, ok := first.request.(*wire.CanUseTool); !ok || q.ToolName != "Write" || !strings.Contains(string(q.Input), target) || q.Change == nil {
		t.Errorf("asked %+v", first.request)
	}
	second.answers <- wire.PermissionAnswer{Behavior: wire.BehaviorAllow}
	select {
	case <-first.ctx.Done():
	case <-time.After(30 * time.Second):
		t.Fatal("the other terminal still asks")
	}
	for _, a := range []*attached{one, two} {
		a.hear("who answered", func(m wire.Message) bool {
			answered, ok := m.(*wire.QuestionAnswered)
			return ok && answered.Behavior == "allow" && answered.By == "an attached terminal"
		})
		a.hear("the result", isResult("Written."))
	}
	if raw, err := os.ReadFile(target); err != nil || string(raw) != "hello\n" {
		t.Errorf("the file has %q, %v", raw, err)
	}
	one.says("1 more")
	for _, a := range []*attached{one, two} {
		a.hear("the prompt", func(m wire.Message) bool {
			_, ok := m.(*wire.User)
			raw, _ := json.Marshal(m)
			return ok && strings.Contains(string(raw), "1 more")
		})
		a.hear("the second result", isResult("More."))
	}
	s.must("POST", "/v1/sessions/"+row.ID+"/close", nil, nil)
	for _, a := range []*attached{one, two} {
		select {
		case <-a.over:
		case <-time.After(30 * time.Second):
			t.Fatal("a terminal stays attached to a session that has ended")
		}
	}
}

// An interrupt of the terminal stops the turn, which withdraws the question.
func TestTerminalInterrupts(t *testing.T) {
	servetest.Home(t)
	dir := t.TempDir()
	s := startSite(t, servetest.Scripted(t, servetest.Writes(filepath.Join(dir, "a.txt"), "x"), servetest.Says("Never.")), "127.0.0.1:0")
	s.dir = dir
	row := s.create("write it")
	a := s.attach(row.ID, "")
	q := a.question()
	if err := a.conn.Call(t.Context(), &wire.Interrupt{}, nil); err != nil {
		t.Fatal(err)
	}
	select {
	case <-q.ctx.Done():
	case <-time.After(30 * time.Second):
		t.Fatal("the question is still asked")
	}
	a.hear("the end of the turn", func(m wire.Message) bool { _, ok := m.(*wire.Result); return ok })
}

// A terminal outlives its server: it resumes at the last event, so that nothing is heard
// twice, and a prompt continues the session at the new server.
func TestTerminalOverARestart(t *testing.T) {
	servetest.Home(t)
	m := servetest.Scripted(t, servetest.Says("One."), servetest.Says("Two."))
	s := startSite(t, m, "127.0.0.1:0")
	row := s.create("go")
	a := s.attach(row.ID, "")
	a.hear("the first answer", func(m wire.Message) bool { // it may be over: results are not repeated
		raw, _ := json.Marshal(m)
		_, ok := m.(*wire.Assistant)
		return ok && strings.Contains(string(raw), "One.")
	})
	// The session itself runs on: another process would lead it. Here it ends with its server,
	// so the terminal is attached to one that does not run.
	s.must("POST", "/v1/sessions/"+row.ID+"/close", nil, nil)
	<-a.over
	a = s.attach(row.ID, "end")
	if a.reply.PID != 0 {
		t.Errorf("process %d leads a session that was closed", a.reply.PID)
	}
	address := strings.TrimPrefix(s.url, "http://")
	s.end()
	a.hear("that the connection is lost", func(m wire.Message) bool {
		i, ok := m.(*wire.Informational)
		return ok && strings.Contains(i.Content, "was lost")
	})
	startSite(t, m, address)
	until(t, "the new server", func() bool {
		_, err := (&attach.Server{URL: s.url, Token: token}).Find(t.Context(), row.ID)
		return err == nil
	})
	a.says("2 again")
	prompts := 0
	a.hear("the prompt and its answer", func(m wire.Message) bool { // results are not repeated, answers are
		raw, _ := json.Marshal(m)
		if _, ok := m.(*wire.User); ok && strings.Contains(string(raw), "2 again") {
			prompts++
		} else if ok {
			t.Errorf("heard again: %s", raw)
		}
		_, ok := m.(*wire.Assistant)
		return ok && strings.Contains(string(raw), "Two.")
	})
	if prompts != 1 {
		t.Errorf("the prompt was heard %d times", prompts)
	}
}

// An answer that the server refuses is not lost: the user hears why and is asked again.
func TestTerminalIsAskedAgain(t *testing.T) {
	servetest.Home(t)
	dir := t.TempDir()
	s := startSite(t, servetest.Scripted(t, servetest.Writes(filepath.Join(dir, "a.txt"), "x"), servetest.Says("Done.")), "127.0.0.1:0")
	s.dir = dir
	a := s.attach(s.create("write it").ID, "")
	a.question().answers <- wire.PermissionAnswer{Behavior: "perhaps"}
	a.hear("why not", func(m wire.Message) bool {
		i, ok := m.(*wire.Informational)
		return ok && strings.Contains(i.Content, "must be allow or deny")
	})
	a.question().answers <- wire.PermissionAnswer{Behavior: wire.BehaviorAllow}
	a.hear("the result", isResult("Done."))
}

// What an address may be, and that it never has the token.
func TestAddresses(t *testing.T) {
	for word, want := range map[string]attach.Address{
		"http://127.0.0.1:7420":             {URL: "http://127.0.0.1:7420"},
		"http://127.0.0.1:7420/":            {URL: "http://127.0.0.1:7420"},
		"https://box.example/s/3f9a":        {URL: "https://box.example", Session: "3f9a"},
		"http://[::1]:7420/s/3f9a#e=12":     {URL: "http://[::1]:7420", Session: "3f9a"},
		"http://127.0.0.1:7420/#token=ABC":  {},
		"http://127.0.0.1:7420/?token=ABC":  {},
		"http://u:ABC@127.0.0.1:7420/":      {},
		"http://127.0.0.1:7420/v1/sessions": {},
		"http://":                           {},
	} {
		got, err := attach.Parse(word)
		if got != want || (err == nil) != (want.URL != "") {
			t.Errorf("%s: %+v, %v", word, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "ABC") {
			t.Errorf("%s: the error tells the token: %v", word, err)
		}
	}
	for url, private := range map[string]bool{"http://127.0.0.1:1": true, "http://localhost:1": true, "http://[::1]:1": true, "https://box": true, "http://box": false, "http://10.0.0.1:1": false, "http://127.0.0.1.evil.example": false} {
		if got := (attach.Address{URL: url}).Private(); got != private {
			t.Errorf("%s: private is %v", url, got)
		}
	}
}

// Which session an address means.
func TestFindASession(t *testing.T) {
	s := newSite(t, servetest.Says("One."), servetest.Says("Two."), servetest.Says("Three."))
	server := &attach.Server{URL: s.url, Token: token}
	if _, err := server.Find(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "no session is running") {
		t.Errorf("without a session: %v", err)
	}
	one := s.create("one")
	if row, err := server.Find(t.Context(), ""); err != nil || row.ID != one.ID {
		t.Errorf("with one session: %+v, %v", row, err)
	}
	two := s.create("two")
	if _, err := server.Find(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "/s/"+two.ID) {
		t.Errorf("with two: %v", err)
	}
	if _, err := server.Find(t.Context(), "zzz"); err == nil {
		t.Error("a session that is not there was found")
	}
	server = &attach.Server{URL: s.url, Token: "wrong"}
	if _, err := server.Find(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "the token is wrong") {
		t.Errorf("with a wrong token: %v", err)
	}
	server = &attach.Server{URL: "http://127.0.0.1:1", Token: token}
	if _, err := server.Find(t.Context(), ""); err == nil || !strings.HasPrefix(err.Error(), "no answer from http://127.0.0.1:1") {
		t.Errorf("without a server: %v", err)
	}
}

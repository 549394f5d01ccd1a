package sessiontest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/internal/test/sessiontest/journaltest"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A Stage is an empty store.
type Stage struct {
	Store *session.Store
	logs  session.Logs // nil for files
}

// InFiles returns a store of files.
func InFiles(t *testing.T) *Stage { return &Stage{Store: session.Open(t.TempDir())} }

// NewWithLogs returns a store of logs.
func NewWithLogs(t *testing.T, logs session.Logs) *Stage {
	return &Stage{Store: session.OpenLogs(logs, t.TempDir()), logs: logs}
}

// Run checks what a session promises, wherever it is kept.
func Run(t *testing.T, open func(t *testing.T) *Stage) {
	for name, test := range map[string]func(*testing.T, *Stage){
		"a session is resumed as it was":             resumed,
		"lost calls are told apart":                  lostCalls,
		"a second writer is refused or fences":       secondWriter,
		"an id is given once":                        idOnce,
		"long payloads are kept as blobs":            longPayloads,
		"a sub-agent continues where it was":         subAgent,
		"damaged journals":                           damaged,
		"a resume at an unknown message is refused":  unknownMessage,
		"resuming at a message sets the states back": statesBack,
		"only one turn is left out":                  drops,
		"what was cut continues":                     cuts,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// write makes raw text part of a journal, as a crash or another program may have left it.
func (st *Stage) write(t *testing.T, id, agent, raw string) {
	t.Helper()
	if st.logs != nil {
		log, pos := openLog(t, st.logs, id, agent)
		if raw != "" {
			appendTo(t, log, pos, raw)
		}
		return
	}
	path := filepath.Join(st.Store.Dir(), "p", id+".jsonl")
	if found, err := st.Store.Find(id); err == nil {
		path = found
	}
	if agent != "" {
		path = filepath.Join(strings.TrimSuffix(path, ".jsonl"), "subagents", "agent-"+agent+".jsonl")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(raw); err != nil {
		t.Fatal(err)
	}
}

// read returns the journal of a session.
func (st *Stage) read(t *testing.T, id string) string {
	t.Helper()
	if st.logs != nil {
		log, _ := openLog(t, st.logs, id, "")
		return text(t, log)
	}
	path, err := st.Store.Find(id)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// lines makes a session of lines.
func (st *Stage) lines(t *testing.T, lines ...string) (id string) {
	t.Helper()
	id = session.NewUUID()
	st.write(t, id, "", strings.Join(lines, "\n")+"\n")
	return id
}

// told returns the texts of a conversation, in order.
func (st *Stage) told(t *testing.T, id, at string) string {
	t.Helper()
	s := Resume(t, st.Store, id, &session.ResumeOptions{At: at})
	h := s.Restored().History
	if err := journaltest.Sendable(h); err != nil {
		t.Fatal(err)
	}
	return journaltest.Texts(t, h)
}

func (st *Stage) continueCut(t *testing.T, raw string, cut int) {
	t.Helper()
	id := session.NewUUID()
	st.write(t, id, "", raw)
	s := Resume(t, st.Store, id, nil)
	before := s.Restored().History
	Add(t, s, Prompt("and more"))
	Close(t, s)
	again := Resume(t, st.Store, id, nil)
	after := again.Restored().History
	if err := journaltest.Sendable(after); err != nil {
		t.Fatalf("cut at %d and continued: %v", cut, err)
	}
	if len(again.Restored().Lost) > 0 {
		t.Errorf("cut at %d: still lost: %v", cut, again.Restored().Lost)
	}
	same := before.Len()
	if same > 0 && after.Len() == same { // the prompt joined the last message
		same--
	}
	for i := range same {
		if !bytes.Equal(before.JSON(i), after.JSON(i)) {
			t.Fatalf("cut at %d: message %d was\n%s\nand is\n%s", cut, i, before.JSON(i), after.JSON(i))
		}
	}
	if last := string(after.JSON(after.Len() - 1)); !strings.Contains(last, "and more") {
		t.Errorf("cut at %d: the last message is %s", cut, last)
	}
}

func resumed(t *testing.T, st *Stage) {
	store := st.Store
	s := Create(t, store, &session.CreateOptions{Cwd: t.TempDir(), Version: "1", GitBranch: "main"})
	Add(t, s, Prompt("hello"))
	Add(t, s, Answer("m1", model.TextOf("I look.")), Answer("m1", Use("a", "Read", `{}`)))
	Record(t, s, "a", "Read", tool.Pure, sched.Finished, "text a")
	Add(t, s, Answer("m1", Use("b", "Bash", `{}`)))
	Record(t, s, "b", "Bash", tool.Unsafe, sched.Finished, "text b")
	Add(t, s, Answer("m2", model.TextOf("Done.")))
	Add(t, s, session.Entry{State: &session.State{Name: "mode", Value: json.RawMessage(`"plan"`)}})
	Close(t, s)

	r := Resume(t, store, s.ID(), nil)
	WantHistory(t, r, "user: hello", "assistant: I look. | Read(a) | Bash(b)", "user: a→text a | b→text b", "assistant: Done.")
	got := r.Restored()
	if string(got.States["mode"]) != `"plan"` || got.Model != "m-1" || got.Messages != 7 || len(got.Lost) != 0 {
		t.Errorf("restored %+v", got)
	}
	if diff := cmp.Diff(map[string]model.Usage{"m-1": {Input: 20, Output: 10}}, got.Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	Add(t, r, Prompt("more"))
	Close(t, r)
	WantHistory(t, Resume(t, store, s.ID(), nil), "user: hello", "assistant: I look. | Read(a) | Bash(b)", "user: a→text a | b→text b", "assistant: Done.", "user: more")
}

func lostCalls(t *testing.T, st *Stage) {
	store := st.Store
	s := Create(t, store, &session.CreateOptions{Cwd: t.TempDir()})
	Add(t, s, Prompt("go"), Answer("m1", Use("a", "Read", `{}`)), Answer("m1", Use("b", "Bash", `{}`)),
		Answer("m1", Use("c", "Bash", `{}`)), Answer("m1", Use("d", "Read", `{}`)))
	Record(t, s, "d", "Read", tool.Pure, sched.Finished, "text d")
	Record(t, s, "a", "Read", tool.Pure, sched.Dispatched, "")
	Record(t, s, "b", "Bash", tool.Unsafe, sched.Dispatched, "")
	Record(t, s, "c", "Bash", tool.Unsafe, sched.Judged, "")
	Close(t, s)

	want := []string{"user: go", "assistant: Read(a) | Bash(b) | Bash(c) | Read(d)",
		"user: a→[Read was interrupted: the session ended while it ran. It changes nothing; call it again if the answer is still needed.]" +
			" | b→[Bash was interrupted: the session ended while it ran, and its outcome is unknown. It may have happened in full, in part or not at all: check before you repeat it.]" +
			" | c→[Bash never ran: the session ended before it started. Nothing was changed; call it again if it is still needed.]" +
			" | d→text d"}
	r := Resume(t, store, s.ID(), nil)
	WantHistory(t, r, want...)
	var lost []string
	for _, c := range r.Restored().Lost {
		lost = append(lost, c.UseID+" "+string(c.Step))
	}
	if diff := cmp.Diff([]string{"a dispatched", "b dispatched", "c judged"}, lost); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
	Add(t, r, Prompt("continue"))
	Close(t, r)
	again := Resume(t, store, s.ID(), nil)
	want[2] += " | continue"
	WantHistory(t, again, want...)
	if len(again.Restored().Lost) != 0 {
		t.Errorf("lost again: %+v", again.Restored().Lost)
	}
}

func secondWriter(t *testing.T, st *Stage) {
	s := Create(t, st.Store, &session.CreateOptions{Cwd: t.TempDir()})
	Add(t, s, Prompt("hello"))
	fork := Resume(t, st.Store, s.ID(), &session.ResumeOptions{Fork: true})
	WantHistory(t, fork, "user: hello")
	second, err := st.Store.Resume(t.Context(), s.ID(), nil)
	if st.logs == nil {
		var inUse *session.InUseError
		if !errors.As(err, &inUse) || inUse.PID != os.Getpid() {
			t.Fatalf("second writer: %v", err)
		}
		Close(t, s)
		Resume(t, st.Store, s.ID(), nil)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	Add(t, second, Answer("m1", Use("a", "Bash", `{}`)))
	before := st.read(t, s.ID())
	call := &tool.Call{ID: "1", UseID: "a", Tool: "Bash", Input: json.RawMessage(`{}`)}
	for name, err := range map[string]error{
		"append":   s.Append(t.Context(), Answer("m0", model.TextOf("stale"))),
		"again":    s.Append(t.Context(), Prompt("stale")),
		"dispatch": s.Record(t.Context(), sched.Record{Step: sched.Dispatched, Call: call}),
		"finish":   s.Record(t.Context(), sched.Record{Step: sched.Finished, Call: call, Outcome: &sched.Outcome{CallID: "1", UseID: "a", Result: tool.Text("stale")}}),
		"an agent": s.Append(t.Context(), session.Entry{Agent: "x", Message: Prompt("stale").Message}),
	} {
		if !errors.Is(err, session.ErrFenced) {
			t.Errorf("%s of the stale writer: %v", name, err)
		}
	}
	Close(t, s)
	if got := st.read(t, s.ID()); got != before {
		t.Errorf("the stale writer has written:\n%s", strings.TrimPrefix(got, before))
	}
	Record(t, second, "a", "Bash", tool.Unsafe, sched.Finished, "done")
	Close(t, second)
	WantHistory(t, Resume(t, st.Store, s.ID(), nil), "user: hello", "assistant: Bash(a)", "user: a→done")
}

func idOnce(t *testing.T, st *Stage) {
	cwd := t.TempDir()
	s := Create(t, st.Store, &session.CreateOptions{Cwd: cwd})
	Add(t, s, Prompt("hello"))
	if _, err := st.Store.Create(t.Context(), &session.CreateOptions{Cwd: cwd, ID: s.ID()}); err == nil {
		t.Error("the same id was given twice")
	}
	if _, err := st.Store.Create(t.Context(), &session.CreateOptions{ID: "../x"}); err == nil {
		t.Error("an id that is a path was taken")
	}
	for _, id := range []string{session.NewUUID(), "../x"} {
		if _, err := st.Store.Resume(t.Context(), id, nil); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("resume of %s: %v", id, err)
		}
	}
}

func longPayloads(t *testing.T, st *Stage) {
	s := Create(t, st.Store, &session.CreateOptions{Cwd: t.TempDir()})
	long := strings.Repeat("a \"quoted\" line\\ with ü and \x01\n", 10_000)
	input, _ := json.Marshal(map[string]string{"z": "first", "a": long})
	Add(t, s, Prompt("go"), Answer("m1", Use("a", "Write", string(input))))
	Record(t, s, "a", "Write", tool.Idempotent, sched.Finished, long)
	Close(t, s)
	if n := len(st.read(t, s.ID())); n > 10_000 {
		t.Errorf("the journal has %d bytes", n)
	}
	check := func(s *session.Session) {
		t.Helper()
		use, err := s.Restored().History.Message(1)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(use.Content[0].Input); got != string(input) {
			t.Errorf("the input came back as %.100s… (%d bytes)", got, len(got))
		}
		res, err := s.Restored().History.Message(2)
		if err != nil {
			t.Fatal(err)
		}
		if got := tool.JoinText(res.Content[0].Content); got != long {
			t.Errorf("the result came back as %.100s… (%d bytes)", got, len(got))
		}
	}
	check(Resume(t, st.Store, s.ID(), &session.ResumeOptions{Fork: true}))
	check(Resume(t, st.Store, s.ID(), &session.ResumeOptions{Fork: true, Cwd: t.TempDir()}))
	check(Resume(t, st.Store, s.ID(), nil))
}

func subAgent(t *testing.T, st *Stage) {
	store := st.Store
	s := Create(t, store, &session.CreateOptions{Cwd: t.TempDir()})
	of := func(entries ...session.Entry) (mine []session.Entry) {
		for _, e := range entries {
			e.Agent = "a1"
			mine = append(mine, e)
		}
		return mine
	}
	Add(t, s, Prompt("main"))
	Add(t, s, of(Prompt("count"), Answer("m1", model.TextOf("one")), Answer("m1", Use("u1", "Bash", `{}`)))...)
	Add(t, s, of(session.Entry{Call: &session.Call{Step: session.Dispatched, ID: "c1", UseID: "u1", Tool: "Bash", Effect: tool.Unsafe}})...)
	Add(t, s, Answer("m2", model.TextOf("main continues")))
	Close(t, s)
	st.write(t, s.ID(), "a1", `{"type":"user","uu`)

	const unknown = "[Bash was interrupted: the session ended while it ran, and its outcome is unknown. It may have happened in full, in part or not at all: check before you repeat it.]"
	want := []string{"user: count", "assistant: one | Bash(u1)", "user: u1→" + unknown}
	r := Resume(t, store, s.ID(), nil)
	WantHistory(t, r, "user: main", "assistant: main continues")
	got, err := r.Agent(t.Context(), "a1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, Show(t, got.History)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if len(got.Lost) != 1 || got.Lost[0].ID != "c1" {
		t.Errorf("lost %+v", got.Lost)
	}
	Add(t, r, of(Prompt("continue"))...)
	if err := r.Rest("a1"); err != nil {
		t.Fatal(err)
	}
	Add(t, r, of(Answer("m3", model.TextOf("two")))...)
	Close(t, r)

	again := Resume(t, store, s.ID(), nil)
	defer Close(t, again)
	got, err = again.Agent(t.Context(), "a1")
	if err != nil {
		t.Fatal(err)
	}
	want[2] += " | continue"
	if diff := cmp.Diff(append(want, "assistant: two"), Show(t, got.History)); diff != "" {
		t.Errorf("history after it continued (-want +got):\n%s", diff)
	}
	if len(got.Lost) != 0 {
		t.Errorf("lost again %+v", got.Lost)
	}
	if _, err := again.Agent(t.Context(), "nobody"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/sessiontest"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

func fact(agent, name string) session.Entry {
	return session.Entry{Agent: agent, State: &session.State{Name: name, Value: json.RawMessage(`1`)}}
}

func soon(t *testing.T, s *session.Session, entries ...session.Entry) {
	t.Helper()
	if err := s.AppendSoon(entries...); err != nil {
		t.Fatal(err)
	}
}

// blockAgents keeps the logs of sub-agents from being opened until the returned function is called.
func blockAgents(t *testing.T, s *session.Session) (unblock func()) {
	t.Helper()
	path := filepath.Join(s.Dir(), "subagents")
	if err := os.MkdirAll(s.Dir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// stated returns the names of the states that are in a journal, in order.
func stated(t *testing.T, path string) (names []string) {
	t.Helper()
	for e, err := range session.Entries(t.Context(), path) {
		if err != nil {
			t.Fatal(err)
		}
		if e.State != nil {
			names = append(names, e.State.Name)
		}
	}
	return names
}

func checkStated(t *testing.T, path string, want ...string) {
	t.Helper()
	if got := stated(t, path); !slices.Equal(got, want) {
		t.Errorf("%s has the states %q, want %q", filepath.Base(path), got, want)
	}
}

func TestWhatWaitsForAnotherAgentFailsNobodyElse(t *testing.T) {
	s := sessiontest.Create(t, session.Open(t.TempDir()), &session.CreateOptions{Cwd: t.TempDir()})
	unblock := blockAgents(t, s)
	soon(t, s, fact("a", "of a"))
	sessiontest.Add(t, s, fact("", "first"))
	soon(t, s, fact("", "second"))
	sessiontest.Add(t, s, fact("", "third"))
	if err := s.Sync(); err == nil {
		t.Error("a sync has nothing to say about what could not be written")
	}
	checkStated(t, s.Path(), "first", "second", "third")
	unblock()
	sessiontest.Add(t, s, fact("", "fourth"))
	agent := filepath.Join(s.Dir(), "subagents", "agent-a.jsonl")
	checkStated(t, agent, "of a")
	sessiontest.Add(t, s, fact("a", "more of a"))
	sessiontest.Close(t, s)
	checkStated(t, s.Path(), "first", "second", "third", "fourth")
	checkStated(t, agent, "of a", "more of a")
}

func TestWhatWaitedIsWrittenOnceThoughWhatFollowsFails(t *testing.T) {
	s := sessiontest.Create(t, session.Open(t.TempDir()), &session.CreateOptions{Cwd: t.TempDir()})
	unblock := blockAgents(t, s)
	soon(t, s, fact("", "read"), fact("a", "waits"))
	for range 3 {
		if err := s.Append(t.Context(), fact("a", "refused")); err == nil {
			t.Fatal("an entry was written to a log that cannot be opened")
		}
	}
	checkStated(t, s.Path(), "read")
	unblock()
	sessiontest.Add(t, s, fact("a", "written"))
	sessiontest.Close(t, s)
	checkStated(t, s.Path(), "read")
	checkStated(t, filepath.Join(s.Dir(), "subagents", "agent-a.jsonl"), "waits", "written")
}

// A full disk that lasts must not fill the memory, nor may an entry that cannot be written wait.
func TestWhatWaitsIsBoundedAndCanBeWritten(t *testing.T) {
	s := sessiontest.Create(t, session.Open(t.TempDir()), &session.CreateOptions{Cwd: t.TempDir()})
	unblock := blockAgents(t, s)
	var want []string
	for i := range 1000 {
		name := fmt.Sprint(i)
		if s.AppendSoon(fact("a", name)) == nil {
			want = append(want, name)
		}
	}
	if len(want) > 100 {
		t.Errorf("%d entries wait", len(want))
	}
	broken := session.Entry{State: &session.State{Name: "broken", Value: json.RawMessage(`{`)}}
	if s.AppendSoon(broken) == nil || s.AppendSoon(session.Entry{}) == nil {
		t.Error("an entry that cannot be written waits to be")
	}
	soon(t, s, fact("", "main"))
	unblock()
	sessiontest.Close(t, s)
	checkStated(t, s.Path(), "main")
	checkStated(t, filepath.Join(s.Dir(), "subagents", "agent-a.jsonl"), want...)
}

// A call whose input is not JSON is refused, whatever its effects are. It does not wait, and so does not
// fail what follows.
func TestACallThatIsNotJSONIsRefused(t *testing.T) {
	for _, effect := range []tool.Effect{tool.Pure, tool.Unsafe} {
		s := sessiontest.Create(t, session.Open(t.TempDir()), &session.CreateOptions{Cwd: t.TempDir()})
		sessiontest.Add(t, s, sessiontest.Prompt("hello"))
		c := &tool.Call{ID: session.NewUUID(), UseID: "u", Tool: "T", Input: json.RawMessage(`{bad`)}
		r := sched.Record{Step: sched.Judged, Call: c, Marks: tool.Marks{Effect: effect}, Verdict: tool.Verdict{Behavior: tool.Allow}}
		if err := s.Record(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		r.Step = sched.Dispatched
		if err := s.Record(t.Context(), r); err == nil {
			t.Errorf("%v: a call whose input is not JSON was recorded", effect)
		}
		if err := s.AppendSoon(session.Entry{Call: &session.Call{Step: session.Dispatched, ID: c.ID, UseID: "u", Tool: "T", Input: c.Input}}); err == nil {
			t.Errorf("%v: a call whose input is not JSON waits to be written", effect)
		}
		sessiontest.Add(t, s, sessiontest.Prompt("again"))
		sessiontest.Close(t, s)
	}
}

// An agent that writes also writes what waits for the others: nothing is lost, doubled or out of order.
func TestAgentsThatWriteAtOnce(t *testing.T) {
	s := sessiontest.Create(t, session.Open(t.TempDir()), &session.CreateOptions{Cwd: t.TempDir()})
	agents := []string{"", "a", "b"}
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprint(i))
	}
	var writers sync.WaitGroup
	for _, agent := range agents {
		writers.Go(func() {
			for i, name := range want {
				err := s.AppendSoon(fact(agent, name))
				switch {
				case i%10 == 9:
					err = errors.Join(err, s.Rest(agent), s.Sync())
				case i%3 == 0:
					err = errors.Join(err, s.Append(t.Context(), fact(agent, "between")))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	sessiontest.Close(t, s)
	for _, agent := range agents {
		path := s.Path()
		if agent != "" {
			path = filepath.Join(s.Dir(), "subagents", "agent-"+agent+".jsonl")
		}
		got := slices.DeleteFunc(stated(t, path), func(name string) bool { return name == "between" })
		if !slices.Equal(got, want) {
			t.Errorf("the journal of %q has %q", agent, got)
		}
	}
}

func TestAnAgentRestsWithWhatWaitedForIt(t *testing.T) {
	s := sessiontest.Create(t, session.Open(t.TempDir()), &session.CreateOptions{Cwd: t.TempDir()})
	soon(t, s, fact("a", "of a"), fact("b", "of b"))
	if err := s.Rest("a"); err != nil {
		t.Fatal(err)
	}
	checkStated(t, filepath.Join(s.Dir(), "subagents", "agent-a.jsonl"), "of a")
	if _, err := os.Stat(filepath.Join(s.Dir(), "subagents", "agent-b.jsonl")); err == nil {
		t.Error("an agent that rests wrote the entries of another")
	}
}

func TestACompactionKnowsWhatIsWrittenWithIt(t *testing.T) {
	store, cwd := session.Open(t.TempDir()), t.TempDir()
	s := sessiontest.Create(t, store, &session.CreateOptions{Cwd: cwd})
	sessiontest.Add(t, s, sessiontest.Prompt("hello"))
	soon(t, s, fact("", "waited"))
	sessiontest.Add(t, s, fact("", "beside"), session.Entry{Compaction: &session.Compaction{Trigger: "auto",
		Messages: []model.Message{{Role: model.User, Content: []model.Block{model.TextOf("summary")}}}}})
	sessiontest.Close(t, s)
	states := sessiontest.Resume(t, store, s.ID(), &session.ResumeOptions{Cwd: cwd}).Restored().States
	for _, name := range []string{"waited", "beside"} {
		if string(states[name]) != "1" {
			t.Errorf("after the compaction the state %q is %q", name, states[name])
		}
	}
}

// calls returns the steps of calls in a journal.
func calls(t *testing.T, s *session.Session) (steps []session.Entry) {
	t.Helper()
	for e, err := range session.Entries(t.Context(), s.Path()) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Call != nil {
			steps = append(steps, e)
		}
	}
	return steps
}

func TestAVerdictHasItsOwnTime(t *testing.T) {
	s := sessiontest.Create(t, session.Open(t.TempDir()), &session.CreateOptions{Cwd: t.TempDir()})
	record := func(step sched.Step, waits bool) {
		t.Helper()
		r := sched.Record{Step: step, Call: &tool.Call{ID: "c", UseID: "u", Tool: "T", Input: json.RawMessage(`{}`)}, Waits: waits,
			Verdict: tool.Verdict{Behavior: tool.Allow}}
		if err := s.Record(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	record(sched.Judged, false)
	judged := time.Now()
	time.Sleep(20 * time.Millisecond) // the journal has milliseconds
	record(sched.Dispatched, false)
	steps := calls(t, s)
	if len(steps) != 2 || steps[0].Call.Step != session.Judged {
		t.Fatalf("the steps are %+v", steps)
	}
	if steps[0].Time.After(judged) {
		t.Errorf("a verdict of %v is said to be of %v", judged, steps[0].Time)
	}
	record(sched.Judged, true)
	if steps := calls(t, s); len(steps) != 3 || steps[2].Call.Step != session.Judged {
		t.Errorf("while a call waits, its verdict is not in the journal: %+v", steps)
	}
}

package session_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/haftdev/haft/internal/test/sessiontest"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// answered begins an answer with a call of a tool without effects, up to its dispatch.
func answered(t *testing.T, s *session.Session) *tool.Call {
	t.Helper()
	c := &tool.Call{ID: session.NewUUID(), UseID: "u", Tool: "T", Input: json.RawMessage(`{}`)}
	use := model.Block{Type: model.ToolUse, ID: c.UseID, Name: c.Tool, Input: c.Input}
	sessiontest.Add(t, s, session.Entry{UUID: c.ID, Message: &session.Message{Role: model.Assistant, ID: "m", Model: "x", Content: []model.Block{use}}})
	for _, step := range []sched.Step{sched.Judged, sched.Dispatched} {
		r := sched.Record{Step: step, Call: c, Marks: tool.Marks{Effect: tool.Pure}, Verdict: tool.Verdict{Behavior: tool.Allow}}
		if err := s.Record(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	sessiontest.Add(t, s, session.Entry{Message: &session.Message{Role: model.Assistant, ID: "m", Model: "x", StopReason: model.StopToolUse, Usage: model.Usage{Output: 7}}})
	return c
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// The steps of a call without effects, the end of its answer and its result are written in one step.
func TestACallWithoutEffectsIsWrittenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sessiontest.Create(t, session.Open(t.TempDir()), &session.CreateOptions{Cwd: t.TempDir()})
		sessiontest.Add(t, s, sessiontest.Prompt("hello"))
		c := answered(t, s)
		if n := len(calls(t, s)); n != 0 {
			t.Errorf("%d steps were written by themselves", n)
		}
		if err := s.Record(t.Context(), sched.Record{Step: sched.Finished, Call: c, Outcome: &sched.Outcome{CallID: c.ID, UseID: c.UseID, Tool: c.Tool, Result: tool.Text("done")}}); err != nil {
			t.Fatal(err)
		}
		if steps := calls(t, s); len(steps) != 2 || steps[0].Call.Step != session.Judged || steps[1].Call.Step != session.Dispatched {
			t.Errorf("the steps are %+v", steps)
		}
		size := sizeOf(t, s.Path())
		sessiontest.Close(t, s)
		if now := sizeOf(t, s.Path()); now != size {
			t.Errorf("%d bytes were written after the result", now-size)
		}
		if raw, err := os.ReadFile(s.Path()); err != nil || strings.Count(string(raw), `"stop_reason":"tool_use"`) != 1 {
			t.Errorf("the end of the answer is not in the journal once: %v", err)
		}
	})
}

// While a call without effects takes long, the journal says that it runs, and how its answer ended.
func TestALongCallWithoutEffectsIsWrittenMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sessiontest.Create(t, session.Open(t.TempDir()), &session.CreateOptions{Cwd: t.TempDir()})
		sessiontest.Add(t, s, sessiontest.Prompt("hello"))
		answered(t, s)
		size := sizeOf(t, s.Path())
		time.Sleep(time.Second)
		synctest.Wait()
		if steps := calls(t, s); len(steps) != 2 {
			t.Errorf("the steps are %+v", steps)
		}
		if sizeOf(t, s.Path()) == size {
			t.Error("nothing was written")
		}
		sessiontest.Close(t, s)
	})
}

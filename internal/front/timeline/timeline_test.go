package timeline_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/front/timeline"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A writer writes a journal, a second apart.
type writer struct {
	t *testing.T
	s *session.Session
	n int
}

func newWriter(t *testing.T) *writer {
	s, err := session.Open(t.TempDir()).Create(t.Context(), &session.CreateOptions{Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &writer{t: t, s: s}
}

func (w *writer) add(e session.Entry) {
	w.t.Helper()
	w.n++
	e.Time = time.UnixMilli(1_000_000 + int64(w.n)*1000)
	if err := w.s.Append(w.t.Context(), e); err != nil {
		w.t.Fatal(err)
	}
}

func (w *writer) say(role model.Role, blocks ...model.Block) {
	w.add(session.Entry{Message: &session.Message{Role: role, Content: blocks, ID: fmt.Sprint("m", w.n), Model: "claude-opus-4-1"}})
}

func use(id string) model.Block {
	return model.Block{Type: model.ToolUse, ID: id, Name: "Bash", Input: json.RawMessage(`{"command":"x"}`)}
}

func result(id, text string, failed bool) model.Block {
	return model.Block{Type: model.ToolResult, UseID: id, IsError: failed, Content: []tool.Block{{Type: tool.TextBlock, Text: text}}}
}

func states(v *timeline.View) string {
	var out []string
	for _, i := range v.Items(0, 1000) {
		text := string(i.Kind)
		if i.Call != nil {
			text = i.ID + ":" + string(i.Call.State)
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// The life of calls, step by step, as a journal that grows shows it.
func TestCallsGoThroughTheirStates(t *testing.T) {
	w := newWriter(t)
	steps := []struct {
		do   func()
		want string
	}{
		{func() { w.say(model.User, model.TextOf("<system-reminder>x"), model.TextOf("do it")) }, "note prompt"},
		{func() { w.say(model.Assistant, use("a"), use("b")) }, "note prompt a:queued b:queued"},
		{func() {
			w.add(session.Entry{Ask: &session.Ask{ID: "q", UseID: "a", Tool: "Bash", Reason: "no rule"}})
		}, "note prompt a:asked b:queued"},
		{func() {
			w.add(session.Entry{Call: &session.Call{Step: session.Dispatched, ID: "c2", UseID: "b"}})
		}, "note prompt a:asked b:running"},
		{func() { w.say(model.User, result("b", "gone wrong", true)) }, "note prompt a:asked b:failed"},
		{func() {
			w.add(session.Entry{Answer: &session.Answer{ID: "q", By: "the web page", Behavior: tool.Deny}})
		}, "note prompt a:queued b:failed"},
		{func() {
			w.add(session.Entry{Call: &session.Call{Step: session.Judged, ID: "c1", UseID: "a", Behavior: tool.Deny, Reason: "no"}})
		}, "note prompt a:queued b:failed"},
		{func() { w.say(model.User, result("a", "denied", true)) }, "note prompt a:denied b:failed"},
		{func() { w.say(model.Assistant, model.TextOf("sorry")) }, "note prompt a:denied b:failed text"},
	}
	for n, step := range steps {
		step.do()
		v, err := timeline.Load(t.Context(), w.s.Path())
		if err != nil {
			t.Fatal(err)
		}
		if got := states(v); got != step.want {
			t.Errorf("after %d steps: %s, want %s", n+1, got, step.want)
		}
		if s := v.Summary(); s.Turns != 1 || (s.Asking == 1) != strings.Contains(step.want, "asked") {
			t.Errorf("after %d steps: %+v", n+1, s)
		}
	}
	v, _ := timeline.Load(t.Context(), w.s.Path())
	a := v.Items(0, 10)[2].Call
	if a.By != "the web page" || a.Answered-a.Asked != 3000 || a.Verdict != "deny" || a.Result != "denied" || a.Ended-a.Judged != 1000 {
		t.Errorf("the call is %+v", a)
	}
	if turn := v.Turns()[0]; turn.Calls != 2 || turn.Failed != 2 || turn.Model != "claude-opus-4-1" {
		t.Errorf("the turn is %+v", turn)
	}
}

// Agents have lanes of their own, and what they do belongs to the turn.
func TestAgentsHaveLanes(t *testing.T) {
	w := newWriter(t)
	w.say(model.User, model.TextOf("first"))
	w.say(model.Assistant, use("a"))
	w.add(session.Entry{Agent: "helper", Message: &session.Message{Role: model.User, Content: []model.Block{model.TextOf("work")}}})
	w.add(session.Entry{Agent: "helper", Message: &session.Message{Role: model.Assistant, ID: "h", Content: []model.Block{use("h1")}}})
	w.say(model.User, result("a", "ok", false))
	w.say(model.User, model.TextOf("second"))
	v, err := timeline.Load(t.Context(), w.s.Path())
	if err != nil {
		t.Fatal(err)
	}
	s := v.Summary()
	if len(s.Lanes) != 2 || s.Lanes[1].Agent != "helper" || s.Lanes[1].Calls != 1 || s.Turns != 2 || s.Calls != 2 || s.Last != "second" || !s.Working {
		t.Errorf("the summary is %+v", s)
	}
}

// Long texts are kept by their beginning only.
func TestTextsAreBounded(t *testing.T) {
	w := newWriter(t)
	w.say(model.User, model.TextOf(strings.Repeat("é", 100_000)))
	v, err := timeline.Load(t.Context(), w.s.Path())
	if err != nil {
		t.Fatal(err)
	}
	if i := v.Items(0, 1)[0]; len([]rune(i.Text)) != 240 || !i.Cut {
		t.Errorf("kept %d characters, cut %v", len([]rune(i.Text)), i.Cut)
	}
}

package question_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/tools/question"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
)

const (
	options  = `"options":[{"label":"SQLite","description":"One file."},{"label":"Postgres","description":"A server.","preview":"host=db"}]`
	asks     = `"questions":[{"question":"Which database?","header":"Database",` + options + `},{"question":"Which extras?","header":"Extras",` + options + `,"multiSelect":true}]`
	unasked  = `{` + asks + `}`
	answered = `{` + asks + `,"answers":{"Which database?":"SQLite","Which extras?":"SQLite, Postgres"},"annotations":{"Which database?":{"notes":"for now"}}}`
)

var person = &tool.Session{Interactive: true}

// answering makes every call one that was answered, as the pipeline does.
func answering(t tool.Tool) tool.Tool {
	run := t.Run
	t.Run = func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		n := *c
		n.Answered = true
		return run(ctx, &n)
	}
	return t
}

func TestConformance(t *testing.T) {
	tooltest.Run(t, tooltest.Subject{Tool: answering(question.New()), Session: person, Valid: []string{answered}})
}

// ask takes a call through the pipeline, past a judge that leaves it to the askers.
func ask(t *testing.T, in string, session *tool.Session, askers ...sched.Asker) *sched.Outcome {
	t.Helper()
	judge := sched.JudgeFunc(func(_ context.Context, c tool.Case) tool.Verdict { return c.Own })
	s := sched.New(&sched.Options{Judge: judge, Askers: askers})
	set := tool.NewSet(&tool.Session{Interactive: true}, []tool.Tool{question.New()}, nil, nil)
	if session != person { // called although it is not offered
		q := question.New()
		q.Enabled = nil
		set = tool.NewSet(session, []tool.Tool{q}, nil, nil)
	}
	return s.Call(t.Context(), set, "toolu_1", "AskUserQuestion", []byte(in))
}

func says(v tool.Verdict) sched.Asker {
	return sched.AskerFunc(func(context.Context, tool.Case, tool.Verdict) (tool.Verdict, error) { return v, nil })
}

func TestTheAnswersComeFromThePerson(t *testing.T) {
	var shown tool.Verdict
	out := ask(t, unasked, person, sched.AskerFunc(func(_ context.Context, c tool.Case, q tool.Verdict) (tool.Verdict, error) {
		shown = q
		return tool.Verdict{Behavior: tool.Allow, Input: json.RawMessage(answered)}, nil
	}))
	want := "The user answered:\n- Which database? SQLite\n  Remark: for now\n- Which extras? SQLite, Postgres"
	if out.Status != sched.Succeeded || out.Result.Text() != want {
		t.Errorf("%s: %s", out.Status, out.Result.Text())
	}
	if !shown.NeedsPerson {
		t.Errorf("the question was put as %+v", shown)
	}
}

func TestAnAnswerIsNeverMadeUp(t *testing.T) {
	for _, c := range []struct {
		name    string
		in      string
		session *tool.Session
		asker   tool.Verdict
		want    string
	}{
		{"answers of the model are refused", answered, person, tool.Verdict{Behavior: tool.Allow}, "answers and annotations come from the user"},
		{"remarks of the model are refused", `{` + asks + `,"annotations":{}}`, person, tool.Verdict{Behavior: tool.Allow}, "come from the user"},
		{"an approval without answers is no answer", unasked, person, tool.Verdict{Behavior: tool.Allow}, "The user has not answered. Do not assume an answer"},
		{"nor is one with an empty list", unasked, person, tool.Verdict{Behavior: tool.Allow, Input: json.RawMessage(`{` + asks + `,"answers":{}}`)}, "The user has not answered"},
		{"a missing answer is missing", unasked, person, tool.Verdict{Behavior: tool.Allow, Input: json.RawMessage(`{` + asks + `,"answers":{"Which extras?":"SQLite"}}`)}, "Which database? (no answer; do not assume one)"},
		{"a refusal is passed on", unasked, person, tool.Verdict{Behavior: tool.Deny, Message: "not now"}, "not now"},
		{"without a person it says so", unasked, new(tool.Session), tool.Verdict{Behavior: tool.Allow, Input: json.RawMessage(answered)}, "There is no one to ask in this session"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ask(t, c.in, c.session, says(c.asker)).Result.Text(); !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	if out := ask(t, unasked, person); out.Status != sched.Denied {
		t.Errorf("with nobody to ask: %s", out.Status)
	}
	q := question.New()
	if q.Enabled(new(tool.Session)) || !q.Enabled(person) {
		t.Error("it is for sessions with a person")
	}
}

func TestQuestionsThatCannotBeAnswered(t *testing.T) {
	q := question.New()
	same := `{"question":"Which database?","header":"Database",` + options + `}`
	for in, want := range map[string]string{
		`{"questions":[` + same + `,` + same + `]}`: "is asked twice",
		`{"questions":[{"question":"x?","header":"x","options":[{"label":"a","description":""},{"label":"a","description":""}]}]}`: `the option "a" twice`,
	} {
		if p := q.Validate(t.Context(), &tool.Call{Input: []byte(in), Session: person}); p == nil || !strings.Contains(p.Message, want) {
			t.Errorf("%+v, want %s", p, want)
		}
	}
}

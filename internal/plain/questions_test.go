package plain

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/haftdev/haft/tool"
)

func TestWhatIsTypedAsAQuestionAppearsIsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newPerson(&lines{w: &out})
		defer p.hangUp()
		answer := make(chan tool.Verdict, 1)
		if p.hear("y") {
			t.Error("a line before the question was taken for an answer")
		}
		go func() {
			v, _ := p.Ask(t.Context(), tool.Case{Tool: bashTool(), Call: &tool.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`)}}, tool.Verdict{Behavior: tool.Ask})
			answer <- v
		}()
		synctest.Wait()
		time.Sleep(arming - time.Nanosecond)
		if p.hear("y") {
			t.Error("a line that was being typed was taken for an answer")
		}
		time.Sleep(time.Nanosecond)
		if !p.hear("n not now") {
			t.Error("the answer was not heard")
		}
		if v := <-answer; v.Behavior != tool.Deny {
			t.Errorf("got %+v", v)
		}
	})
}

func TestQuestionsOfTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newPerson(&lines{w: &out})
		defer p.hangUp()
		answer := make(chan tool.Verdict, 1)
		go func() {
			v, _ := p.Ask(t.Context(), tool.Case{Call: &tool.Call{Tool: "AskUserQuestion", Input: json.RawMessage(
				`{"questions":[{"question":"Which?","header":"H","options":[{"label":"A","description":""},{"label":"B","description":""}]}]}`)}}, tool.Verdict{})
			answer <- v
		}()
		synctest.Wait()
		time.Sleep(arming)
		p.hear("2")
		v := <-answer
		var in struct{ Answers map[string]string }
		if err := json.Unmarshal(v.Input, &in); err != nil || in.Answers["Which?"] != "B" {
			t.Errorf("%s, %v", v.Input, err)
		}
	})
}

func TestNobodyAllowsAnythingWhenTheInputHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newPerson(&lines{w: &out})
		p.hangUp()
		synctest.Wait()
		v, _ := p.Ask(t.Context(), tool.Case{Tool: bashTool(), Call: &tool.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`)}}, tool.Verdict{Behavior: tool.Ask})
		if v.Behavior == tool.Allow {
			t.Errorf("got %+v", v)
		}
	})
}

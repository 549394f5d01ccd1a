package plain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/haftdev/haft/tool"
)

func TestWhatIsTypedAsAQuestionAppearsIsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := (&Person{out: &lines{w: &out}})
		defer p.HangUp()
		answer := make(chan tool.Verdict, 1)
		if p.Hear("y") {
			t.Error("a line before the question was taken for an answer")
		}
		go func() {
			v, _ := p.Ask(t.Context(), tool.Case{Tool: bashTool(), Call: &tool.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`)}}, tool.Verdict{Behavior: tool.Ask})
			answer <- v
		}()
		synctest.Wait()
		time.Sleep(arming - time.Nanosecond)
		if p.Hear("y") {
			t.Error("a line that was being typed was taken for an answer")
		}
		time.Sleep(time.Nanosecond)
		if !p.Hear("n not now") {
			t.Error("the answer was not heard")
		}
		if v := <-answer; v.Behavior != tool.Deny {
			t.Errorf("got %+v", v)
		}
	})
}

// TestCommandsInsideAQuestion: /stop and /exit go to the conversation, /help explains the
// question and asks it again.
func TestCommandsInsideAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := (&Person{out: &lines{w: &out}})
		ctx, stop := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			_, err := p.Ask(ctx, tool.Case{Tool: bashTool(), Call: &tool.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`)}}, tool.Verdict{Behavior: tool.Ask})
			gone <- err
		}()
		synctest.Wait()
		time.Sleep(arming)
		out.Reset()
		if !p.Hear("/help") || !strings.Contains(out.String(), "/stop stops the turn") || !strings.HasSuffix(out.String(), "deny > ") {
			t.Errorf("help is %q", out.String())
		}
		for _, line := range []string{"/stop", "/exit", " /quit "} {
			if p.Hear(line) {
				t.Errorf("%s was taken for an answer", line)
			}
		}
		stop() // as the conversation does when it is told to stop
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("the question ended with %v", err)
		}
	})
}

func TestQuestionsOfTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := (&Person{out: &lines{w: &out}})
		defer p.HangUp()
		answer := make(chan tool.Verdict, 1)
		go func() {
			v, _ := p.Ask(t.Context(), tool.Case{Call: &tool.Call{Tool: "AskUserQuestion", Input: json.RawMessage(
				`{"questions":[{"question":"Which?","header":"H","options":[{"label":"A","description":""},{"label":"B","description":""}]}]}`)}}, tool.Verdict{})
			answer <- v
		}()
		synctest.Wait()
		time.Sleep(arming)
		p.Hear("2")
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
		p := (&Person{out: &lines{w: &out}})
		p.HangUp()
		synctest.Wait()
		v, _ := p.Ask(t.Context(), tool.Case{Tool: bashTool(), Call: &tool.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`)}}, tool.Verdict{Behavior: tool.Ask})
		if v.Behavior == tool.Allow {
			t.Errorf("got %+v", v)
		}
	})
}

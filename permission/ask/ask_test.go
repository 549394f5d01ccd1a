package ask_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/permission/ask"
	"github.com/haftdev/haft/tool"
)

func question() (tool.Case, tool.Verdict) {
	return tool.Case{Call: &tool.Call{Tool: "Bash", Input: []byte(`{"command":"make"}`)}},
		tool.Verdict{Behavior: tool.Ask, Reason: "no rule allows it", Suggestions: []tool.Suggestion{{Rule: "Bash(make:*)"}}}
}

func TestATerminalUnderstands(t *testing.T) {
	for _, c := range []struct {
		name, typed string
		want        tool.Verdict
		kept        string
	}{
		{"yes", "y\n", tool.Verdict{Behavior: tool.Allow, Reason: "the person allowed it once"}, ""},
		{"always", "a\n", tool.Verdict{Behavior: tool.Allow, Reason: "the person allowed it from now on", Rule: "Bash(make:*)"}, "Bash(make:*)"},
		{"no", "n\n", tool.Verdict{Behavior: tool.Deny, Reason: "the person denied it", Message: "The person denied this call. Do not try it in another way; ask what they would like instead."}, ""},
		{"no and why", "no use ninja\n", tool.Verdict{Behavior: tool.Deny, Reason: "the person denied it", Message: "The person denied this call. They say: use ninja"}, ""},
		{"something else first", "\nperhaps\nyes sir\ny\n", tool.Verdict{Behavior: tool.Allow, Reason: "the person allowed it once"}, ""},
		{"the end of input", "", tool.Verdict{Reason: "the input ended before an answer"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, type_ := io.Pipe()
				var kept string
				term := ask.NewTerminal(in, io.Discard, func(s tool.Suggestion) error { kept = s.Rule; return nil })
				go func() {
					synctest.Wait() // the question is there
					io.WriteString(type_, c.typed)
					type_.Close()
				}()
				cs, q := question()
				got, err := term.Ask(t.Context(), cs, q)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(c.want, got); d != "" || kept != c.kept {
					t.Errorf("kept %q (-want +got):\n%s", kept, d)
				}
				io.Copy(io.Discard, in)
			})
		})
	}
}

func TestWhatWasTypedAheadDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, type_ := io.Pipe()
		term := ask.NewTerminal(in, io.Discard, nil)
		go io.WriteString(type_, "y\ny\nyes\n")
		synctest.Wait() // it is typed, and nobody has asked
		go func() {
			synctest.Wait()
			io.WriteString(type_, "n\n")
			type_.Close()
		}()
		cs, q := question()
		if got, _ := term.Ask(t.Context(), cs, q); got.Behavior != tool.Deny {
			t.Errorf("got %+v", got)
		}
		io.Copy(io.Discard, in)
	})
}

func TestAQuestionEndsWithItsContext(t *testing.T) {
	in, type_ := io.Pipe()
	defer type_.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cs, q := question()
	if _, err := ask.NewTerminal(in, io.Discard, nil).Ask(ctx, cs, q); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestTheQuestionShowsEverything(t *testing.T) {
	var out bytes.Buffer
	cs, q := question()
	cs.Call.Input = []byte("{\"command\":\"ls\x1b[2K\u202e # rm\"}")
	ask.NewTerminal(strings.NewReader(""), &out, nil).Ask(t.Context(), cs, q)
	if s := out.String(); !strings.Contains(s, `ls\u{1b}[2K\u{202e} # rm`) || strings.Contains(s, "[a]") {
		t.Errorf("shown:\n%s", s)
	}
}

func TestAPromptTool(t *testing.T) {
	for _, c := range []struct {
		name, says string
		want       tool.Verdict
		wrong      bool
	}{
		{"allow", `{"behavior":"allow"}`, tool.Verdict{Behavior: tool.Allow, Reason: "the permission prompt tool allowed it"}, false},
		{"allow something else", `{"behavior":"allow","updatedInput":{"command":"ls"}}`, tool.Verdict{Behavior: tool.Allow, Reason: "the permission prompt tool allowed it", Input: json.RawMessage(`{"command":"ls"}`)}, false},
		{"deny", `{"behavior":"deny","message":"no","interrupt":true}`, tool.Verdict{Behavior: tool.Deny, Reason: "the permission prompt tool denied it", Message: "no", Interrupt: true}, false},
		{"an unknown word", `{"behavior":"maybe"}`, tool.Verdict{}, true},
		{"no JSON", `sure`, tool.Verdict{}, true},
	} {
		cs, q := question()
		got, err := ask.PromptTool{Run: func(_ context.Context, in json.RawMessage) (string, error) {
			if !strings.Contains(string(in), `"tool_name":"Bash"`) {
				t.Errorf("asked with %s", in)
			}
			return c.says, nil
		}}.Ask(t.Context(), cs, q)
		if (err != nil) != c.wrong {
			t.Errorf("%s: %v", c.name, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestAClassifierAllowsWhatItFindsSafeAndNothingElse(t *testing.T) {
	classified := &tool.Tool{Name: "Bash", Classify: func(c *tool.Call) string { return string(c.Input) }}
	silent := &tool.Tool{Name: "Mute"}
	for _, c := range []struct {
		name  string
		on    bool
		tool  *tool.Tool
		rule  string
		input string
		want  tool.Behavior
	}{
		{"safe", true, classified, "", "safe", tool.Allow},
		{"not safe", true, classified, "", "rm", tool.NoView},
		{"broken", true, classified, "", "broken", tool.NoView},
		{"another mode", false, classified, "", "safe", tool.NoView},
		{"a rule wants a person", true, classified, "Bash(git push:*)", "safe", tool.NoView},
		{"a tool that says nothing", true, silent, "", "safe", tool.NoView},
		{"a call that says nothing", true, classified, "", "", tool.NoView},
	} {
		classifier := ask.Classifier{On: func() bool { return c.on }, Safe: func(_ context.Context, _, text string) (bool, error) {
			if text == "broken" {
				return true, errors.New("no model")
			}
			return text == "safe", nil
		}}
		got, err := classifier.Ask(t.Context(), tool.Case{Tool: c.tool, Call: &tool.Call{Input: []byte(c.input)}}, tool.Verdict{Rule: c.rule})
		if got.Behavior != c.want || (err != nil) != (c.input == "broken") {
			t.Errorf("%s: %s, %v, want %s", c.name, got.Behavior, err, c.want)
		}
	}
}

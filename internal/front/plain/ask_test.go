package plain

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/tool"
)

// bashTool is Bash without a shell, to say what its calls are about.
func bashTool() *tool.Tool {
	t := bash.New(nil, nil).List()[0]
	return &t
}

// answered asks about a command and types lines, one after the other.
func answered(t *testing.T, command string, typed ...string) (v tool.Verdict, kept, shown string) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := &Person{out: &lines{w: &out}, grants: true}
		defer p.HangUp()
		answer := make(chan tool.Verdict, 1)
		raw, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			v, _ := p.Ask(t.Context(), tool.Case{Tool: bashTool(), Call: &tool.Call{Tool: "Bash", Input: raw}},
				tool.Verdict{Behavior: tool.Ask, Reason: "no rule allows it", Suggestions: []tool.Suggestion{{Rule: "Bash(make:*)"}}})
			answer <- v
		}()
		for _, l := range typed {
			synctest.Wait()
			time.Sleep(arming)
			p.Hear(l)
		}
		v = <-answer
		for _, g := range v.Grants {
			kept += strings.Join(g.Rules, ",")
		}
		v.Grants = nil
		shown = out.String()
	})
	return v, kept, shown
}

func TestAnswers(t *testing.T) {
	const denied = "The user denied this call. Do not try to do it another way; ask what they would like instead."
	for _, c := range []struct {
		name, command string
		typed         []string
		want          tool.Verdict
		kept          string
	}{
		{"yes", "make", []string{"y"}, tool.Verdict{Behavior: tool.Allow, Reason: "the user allowed it once"}, ""},
		{"for the session", "make", []string{"s"}, tool.Verdict{Behavior: tool.Allow, Reason: "the user allowed it for this session", Rule: "Bash(make:*)"}, "Bash(make:*)"},
		{"no", "make", []string{"n"}, tool.Verdict{Behavior: tool.Deny, Reason: "the user denied it", Message: denied}, ""},
		{"no and why", "make", []string{"no use ninja"}, tool.Verdict{Behavior: tool.Deny, Reason: "the user denied it", Message: "The user denied this call. They say: use ninja"}, ""},
		{"something else first", "make", []string{"", "perhaps", "yes sir", "y"}, tool.Verdict{Behavior: tool.Allow, Reason: "the user allowed it once"}, ""},
		{"something destructive, with the word", "rm -r x", []string{"y", "allow"}, tool.Verdict{Behavior: tool.Allow, Reason: "the user allowed it once"}, ""},
		{"something destructive, without it", "rm -r x", []string{"y", "y"}, tool.Verdict{Behavior: tool.Deny, Reason: "the user denied it", Message: denied}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, kept, _ := answered(t, c.command, c.typed...)
			if d := cmp.Diff(c.want, got); d != "" || kept != c.kept {
				t.Errorf("kept %q (-want +got):\n%s", kept, d)
			}
		})
	}
}

func TestAQuestionShowsTheCommandAndHidesNothing(t *testing.T) {
	_, _, shown := answered(t, "ls\x1b[2K\n\u202e # rm", "n")
	want := "\nRun this command?\n    ls\\u{1b}[2K\n    \\u{202e} # rm\nAsked because no rule allows it.\n" +
		"y: allow once · s: allow Bash(make:*) for this session · n [reason]: deny > "
	if !strings.HasPrefix(shown, want) {
		t.Errorf("shown:\n%s", shown)
	}
}

// TestAFormIsFilledInLineByLine answers a server's form, with mistakes on the way.
func TestAFormIsFilledInLineByLine(t *testing.T) {
	schema := json.RawMessage(`{"properties":{"city":{"type":"string","title":"City"},"days":{"type":"integer","maximum":9},"fast":{"type":"boolean","default":true},"extras":{"type":"array","items":{"enum":["a","b","c"]}}},"required":["city"]}`)
	for _, c := range []struct {
		typed []string
		want  mcp.Answer
	}{
		{[]string{"", "Bern", "12", "3", "", "1,3", "y"}, mcp.Answer{Action: "accept", Content: json.RawMessage(`{"city":"Bern","days":3,"extras":["a","c"],"fast":true}`)}},
		{[]string{"Bern", "", "n", "", "y"}, mcp.Answer{Action: "accept", Content: json.RawMessage(`{"city":"Bern","fast":false}`)}},
		{[]string{"Bern", "", "", "", "n"}, mcp.Answer{Action: "decline"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			p := &Person{out: &lines{w: &out}, grants: true}
			defer p.HangUp()
			answer := make(chan mcp.Answer, 1)
			go func() {
				a, _ := p.Elicit(t.Context(), mcp.Elicitation{Server: "shop", Message: "Whereto?", Mode: "form", Schema: schema})
				answer <- a
			}()
			for _, l := range c.typed {
				synctest.Wait()
				time.Sleep(arming)
				p.Hear(l)
			}
			if d := cmp.Diff(c.want, <-answer); d != "" {
				t.Errorf("%q (-want +got):\n%s\n%s", c.typed, d, out.String())
			}
		})
	}
}

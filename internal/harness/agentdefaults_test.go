package harness_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/tools/subagent"
	"github.com/haftdev/haft/model/script"
)

// Without a word about it a call does not wait for its agent, and the model is told the report once it is there; the call and
// the settings can choose to wait. What an agent starts itself is waited for.
func TestAgentsWorkInTheBackground(t *testing.T) {
	for _, c := range []struct {
		name, settings, input string
		async                 bool
	}{
		{"by default", "", `{"description":"d","prompt":"CHILD"}`, true},
		{"the call waits", "", `{"description":"d","prompt":"CHILD","run_in_background":false}`, false},
		{"the settings wait", `{"agents":{"background":false}}`, `{"description":"d","prompt":"CHILD"}`, false},
		{"the call decides over the settings", `{"agents":{"background":false}}`, `{"description":"d","prompt":"CHILD","run_in_background":true}`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			if c.settings != "" {
				home, _ := os.UserHomeDir()
				writeFile(t, filepath.Join(home, ".claude", "settings.json"), c.settings)
			}
			r.play([]script.Turn{uses("Agent", c.input), says("started"), says("heard")}, map[string][]script.Turn{
				"CHILD": {uses("Agent", `{"description":"e","prompt":"GRANDCHILD"}`), says("THE ANSWER IS 42")}, "GRANDCHILD": {says("HELP FOR THE CHILD")},
			})
			talk := r.talk(harness.Options{}, harness.TalkOptions{})
			defer talk.Close(t.Context())
			events, _ := r.say(talk, "go")
			outs, _ := reports(events)
			if len(outs) != 1 || outs[0].IsAsync != c.async {
				t.Fatalf("the call gave %+v, want it to return at once: %v", outs, c.async)
			}
			if want := subagent.Completed; !c.async && outs[0].Status != string(want) {
				t.Errorf("the agent ended %s, want %s", outs[0].Status, want)
			}
			if !r.heard(func(q *script.Request) bool {
				return strings.Contains(string(q.Body), "THE ANSWER IS 42") && !strings.Contains(string(q.Body), `"text":"CHILD`)
			}) {
				t.Error("the main conversation was not told the report")
			}
			if !r.heard(func(q *script.Request) bool { return strings.Contains(string(q.Body), "HELP FOR THE CHILD") }) {
				t.Error("the agent was not told what its own helper found")
			}
		})
	}
}

func (r *rig) heard(is func(*script.Request) bool) bool {
	for _, q := range r.server.Requests() {
		if is(q) {
			return true
		}
	}
	return false
}

// With its flag, a call names the folder of the project that an agent works in; without, there is no such field.
func TestAnAgentIsGivenAFolder(t *testing.T) {
	r := newRig(t)
	writeFile(t, filepath.Join(r.dir, "sub", "here.txt"), "x")
	outside := t.TempDir()
	in := func(dir, more string) string {
		raw, err := json.Marshal(dir)
		if err != nil {
			t.Fatal(err)
		}
		return `{"description":"d","prompt":"CHILD","run_in_background":false,"cwd":` + string(raw) + more + `}`
	}
	play := func() {
		r.play([]script.Turn{{Blocks: []script.Block{
			call("Agent", in(filepath.Join(r.dir, "sub"), "")), call("Agent", in(outside, "")), call("Agent", in(r.dir, `,"isolation":"worktree"`)),
		}}, says("done")}, map[string][]script.Turn{"CHILD": {{Blocks: []script.Block{call("Bash", `{"command":"pwd"}`), call("Glob", `{"pattern":"*"}`)}}, says("looked")}})
	}
	home, _ := os.UserHomeDir()
	writeFile(t, filepath.Join(home, ".claude", "settings.json"), `{"agents":{"cwd":true}}`)
	play()
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	events, _ := r.say(c, "go")
	_, texts := reports(events)
	for _, want := range []string{"looked", "is not in the project", "Leave out cwd or isolation"} { // in the order in which they return
		if said := strings.Join(texts, "\n"); len(texts) != 3 || strings.Count(said, want) != 1 {
			t.Errorf("the calls said %q, want %q once", texts, want)
		}
	}
	want := map[string]string{"Bash": filepath.Join(r.dir, "sub"), "Glob": "here.txt"}
	for _, ev := range events {
		if ret, ok := ev.(agent.Returned); ok && ret.Outcome.Agent != "" {
			if !strings.Contains(ret.Outcome.Result.Text(), want[ret.Outcome.Tool]) {
				t.Errorf("%s of the agent said %q", ret.Outcome.Tool, ret.Outcome.Result.Text())
			}
			delete(want, ret.Outcome.Tool)
		}
	}
	if len(want) > 0 {
		t.Errorf("the agent did not call %v", want)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(home, ".claude", "settings.json"), `{}`)
	play()
	c = r.talk(harness.Options{}, harness.TalkOptions{})
	defer c.Close(t.Context())
	r.say(c, "go")
	if body := string(r.server.Requests()[0].Body); strings.Contains(body, `"cwd"`) {
		t.Error("the model is told of cwd without the flag")
	}
}

package harness_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sched"
)

// outcomes are how calls of a tool ended, of one agent or of the main conversation.
func outcomes(events []agent.Event, name string, sub bool) (outs []*sched.Outcome) {
	for _, ev := range events {
		if ev, ok := ev.(agent.Returned); ok && ev.Outcome.Tool == name && (ev.Outcome.Agent != "") == sub {
			outs = append(outs, ev.Outcome)
		}
	}
	return outs
}

// TestAnAgentSearchesWhereItWorks moves the main conversation's shell: the agent's tools
// stay where the agent is, all of them.
func TestAnAgentSearchesWhereItWorks(t *testing.T) {
	r := newRig(t)
	for name, text := range map[string]string{"top.txt": "needle\n", "doc/guide.txt": "other\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(r.dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r.play([]script.Turn{
		uses("Bash", in("command", "cd doc")),
		uses("Grep", in("pattern", "needle")),
		uses("Read", in("file_path", "guide.txt")),
		uses("Agent", `{"description":"Look","prompt":"CHILD: find it","subagent_type":"Explore","run_in_background":false}`),
		says("done"),
	}, map[string][]script.Turn{"CHILD": {
		uses("Grep", in("pattern", "needle")),
		uses("Glob", in("pattern", "*.txt")),
		uses("Bash", in("command", "pwd")),
		uses("Read", in("file_path", "top.txt")),
		says("found"),
	}})
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	defer c.Close(t.Context())
	events, _ := r.say(c, "go")
	doc := filepath.Join(r.dir, "doc")
	for _, want := range []struct {
		tool string
		sub  bool
		text string
	}{
		{"Bash", false, "The working directory is now \"" + doc + "\"."},
		{"Grep", false, "Searched 1 file in " + doc + "."},
		{"Read", false, "1\tother"},
		{"Grep", true, "top.txt"},
		{"Glob", true, "doc/guide.txt"},
		{"Bash", true, r.dir},
		{"Read", true, "1\tneedle"},
	} {
		outs := outcomes(events, want.tool, want.sub)
		if len(outs) != 1 || !strings.Contains(outs[0].Result.Text(), want.text) {
			t.Errorf("%s (agent %v): no %q in %v", want.tool, want.sub, want.text, outs)
			for _, o := range outs {
				t.Log(o.Result.Text())
			}
		}
	}
	read := outcomes(events, "Read", false)[0]
	if len(read.Repairs) != 1 || read.Repairs[0].String() != `file_path: "guide.txt" was read as "`+filepath.Join(doc, "guide.txt")+`"` {
		t.Errorf("the relative path was not disclosed: %v", read.Repairs)
	}
}

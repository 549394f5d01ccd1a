package harness_test

import (
	"strings"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model/script"
)

// Where nothing may run in the background, no tool offers it, and agents are waited for, also those
// that otherwise work beside their caller.
func TestNothingIsInTheBackgroundWhereThatIsOff(t *testing.T) {
	t.Setenv("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1")
	r := newRig(t)
	r.put(".haft/agents/beside.md", "---\nname: beside\ndescription: Works beside.\nbackground: true\n---\nWork.\n")
	r.play([]script.Turn{
		uses("Bash", `{"command":"true","run_in_background":true}`),
		uses("Agent", `{"description":"d","prompt":"CHILD"}`),
		uses("Agent", `{"description":"d","prompt":"CHILD","subagent_type":"beside"}`),
		says("done"),
	}, map[string][]script.Turn{"CHILD": {says("the report")}})
	c := r.talk(harness.Options{TrustProject: true}, harness.TalkOptions{})
	defer c.Close(t.Context())
	var results []string
	events, _ := r.say(c, "go")
	for _, ev := range events {
		if ev, ok := ev.(agent.Returned); ok && ev.Outcome.Agent == "" {
			results = append(results, ev.Outcome.Result.Text())
		}
	}
	if len(results) != 3 || !strings.Contains(results[0], "run_in_background") || !strings.Contains(results[1], "the report") || !strings.Contains(results[2], "the report") {
		t.Errorf("results %q", results)
	}
	for _, body := range r.bodies() {
		tools, _, _ := strings.Cut(body[strings.Index(body, `"tools":`):], `"messages":`)
		for _, gone := range []string{"run_in_background", `"BashOutput"`, `"KillShell"`} {
			if strings.Contains(tools, gone) {
				t.Errorf("a request offers %s", gone)
			}
		}
	}
}

package harness_test

import (
	"fmt"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model/script"
)

// statuses are how the calls of a turn ended.
func statuses(events []agent.Event) (all []string) {
	for _, ev := range events {
		if r, ok := ev.(agent.Returned); ok {
			all = append(all, fmt.Sprint(r.Outcome.Status))
		}
	}
	return all
}

func TestWhatAFailedCommandDoesToTheCallsBehindIt(t *testing.T) {
	for setting, want := range map[string]string{
		`{}`:                                    "[failed succeeded]",
		`{"calls":{"afterFailure":"continue"}}`: "[failed succeeded]",
		`{"calls":{"afterFailure":"cancel"}}`:   "[failed cancelled]",
	} {
		t.Run(setting, func(t *testing.T) {
			r := newRig(t,
				script.Turn{Blocks: []script.Block{call("Bash", `{"command":"exit 3"}`), call("Bash", `{"command":"touch b"}`)}},
				script.Turn{Blocks: []script.Block{{Text: "done"}}},
			)
			c := r.talk(harness.Options{Settings: setting, Allowed: []string{"Bash"}}, harness.TalkOptions{})
			defer c.Close(t.Context())
			events, _ := r.say(c, "go")
			if got := fmt.Sprint(statuses(events)); got != want {
				t.Errorf("the calls ended %s, want %s", got, want)
			}
		})
	}
}

func TestTheSettingsSayHowOftenACallMayRepeat(t *testing.T) {
	r := newRig(t)
	same := script.Turn{Blocks: []script.Block{call("Bash", `{"command":"echo hi"}`)}}
	r = r.with(same, same, same, script.Turn{Blocks: []script.Block{{Text: "done"}}})
	c := r.talk(harness.Options{Settings: `{"calls":{"sameResults":{"warn":-1,"stop":2}}}`}, harness.TalkOptions{})
	defer c.Close(t.Context())
	if _, last := r.say(c, "go"); last.Reason != agent.StoppedLoop || last.Calls != 2 {
		t.Errorf("the turn ended after %d calls: %s", last.Calls, last.Reason)
	}
}

package harness_test

import (
	"context"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// TestTheModelIsToldWhatItMayDo: the mode, that nobody approves, and what is allowed, once.
func TestTheModelIsToldWhatItMayDo(t *testing.T) {
	const alone = "No one can approve calls in this session"
	hello := script.Turn{Blocks: []script.Block{{Text: "hello"}}}
	r := newRig(t, hello, hello, hello)
	r.userSettings(`{"permissions":{"allow":["Bash(git:*)","WebFetch(domain:example.com)"]}}`)
	c := r.talk(harness.Options{Mode: "acceptEdits"}, harness.TalkOptions{})
	r.say(c, "hi")
	body := string(r.server.Requests()[0].Body)
	for _, want := range []string{"Permission mode: acceptEdits: ", alone, "Allowed without approval: Bash(git:*), WebFetch(domain:example.com).", "Shell: bash", "Model: claude-opus-5-5"} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is not in the first request", want)
		}
	}
	id := c.Agent.Session()
	c.Close(t.Context())
	c = r.talk(harness.Options{Mode: "acceptEdits"}, harness.TalkOptions{Resume: id})
	r.say(c, "again")
	c.Close(t.Context())
	requests := r.server.Requests()
	last := string(requests[len(requests)-1].Body)
	for _, once := range []string{"Permission mode: ", "Your environment, as of", "These tools exist but are not described to you yet", "\\nCronCreate\\n"} {
		if n := strings.Count(last, once); n != 1 {
			t.Errorf("%q is in the request of a resumed session %d times", once, n)
		}
	}
	planned := newRig(t, hello)
	planned.userSettings(`{"permissions":{"allow":["Bash(git:*)"]}}`)
	c = planned.talk(harness.Options{Mode: "plan"}, harness.TalkOptions{})
	planned.say(c, "hi")
	c.Close(t.Context())
	if body := string(planned.server.Requests()[0].Body); !strings.Contains(body, "Allowed without approval, as long as nothing is changed: Bash(git:*).") {
		t.Error("in plan mode, rules are told as if they allowed changes")
	}
	asked := newRig(t, hello)
	c = asked.talk(harness.Options{}, harness.TalkOptions{Person: sched.AskerFunc(func(context.Context, tool.Case, tool.Verdict) (tool.Verdict, error) {
		return tool.Verdict{Behavior: tool.Deny}, nil
	})})
	defer c.Close(t.Context())
	asked.say(c, "hi")
	if body := string(asked.server.Requests()[0].Body); strings.Contains(body, alone) || !strings.Contains(body, "Permission mode: default: ") {
		t.Error("a session with a user is told that nobody approves, or not its mode")
	}
}

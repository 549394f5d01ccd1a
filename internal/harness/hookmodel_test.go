package harness_test

import (
	"strings"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model/script"
)

// judgedTurn runs a turn that calls Bash and then ends, with hooks that ask a model; judge answers
// every request that has a condition in it.
func judgedTurn(t *testing.T, hooks string, judge func(q *script.Request) script.Turn) (r *rig, returned []agent.Returned, last agent.Result) {
	r = newRig(t)
	r.server.Close()
	server, err := scripttest.Serve(t, &script.Options{Answer: func(q *script.Request) script.Turn {
		switch {
		case strings.Contains(q.FirstText(), "CONDITION"):
			return judge(q)
		case q.Turn == 0:
			return script.Turn{Blocks: []script.Block{call("Bash", `{"command":"echo ran"}`)}}
		}
		return says("done")
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	r.server = server
	c := r.talk(harness.Options{Settings: `{"hooks":` + hooks + `}`}, harness.TalkOptions{})
	defer c.Close(t.Context())
	events, last := r.say(c, "work")
	for _, ev := range events {
		if ev, ok := ev.(agent.Returned); ok {
			returned = append(returned, ev)
		}
	}
	return r, returned, last
}

func TestAModelJudgesForAHook(t *testing.T) {
	const hook = `{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"prompt","prompt":"CONDITION: see $ARGUMENTS"}]}]}`
	for answer, want := range map[string]string{
		`{"ok": true, "reason": "it only prints"}`:                                "ran",
		"```json\n{\"ok\": false, \"reason\": \"never print {this}\"}\n```":       "never print {this}",
		`I think that it is fine.`:                                                "the model did not answer with",
		`{"ok": "yes"}`:                                                           "the model did not answer with",
		`{"reason": "says nothing"}`:                                              "the model did not answer with",
		`First I took {"ok": true} for right, but: {"ok": false, "reason": "no"}`: "the condition of a hook is not met: no",
	} {
		asked := 0
		_, returned, _ := judgedTurn(t, hook, func(q *script.Request) script.Turn {
			asked++
			if !strings.Contains(q.LastText(), `"command":"echo ran"`) || strings.Contains(q.LastText(), "$ARGUMENTS") {
				t.Errorf("the model is asked %q", q.LastText())
			}
			return says(answer)
		})
		if asked != 1 || len(returned) != 1 || !strings.Contains(returned[0].Outcome.Result.Text(), want) {
			t.Errorf("answer %q: asked %d times, %d results, want one with %q: %+v", answer, asked, len(returned), want, returned)
		}
	}
}

func TestAModelKeepsATurnFromEnding(t *testing.T) {
	asked := 0
	_, _, last := judgedTurn(t, `{"Stop":[{"hooks":[{"type":"prompt","prompt":"CONDITION: the tests ran"}]}]}`, func(q *script.Request) script.Turn {
		if asked++; asked == 1 {
			return says(`{"ok": false, "reason": "no test ran"}`)
		}
		if !strings.Contains(q.LastText(), `ARGUMENTS: {`) {
			t.Errorf("the model is asked %q", q.LastText())
		}
		return says(`{"ok": true}`)
	})
	if asked != 2 || last.Text != "done" {
		t.Errorf("asked %d times, and the turn ended with %q; want 2 and an answer", asked, last.Text)
	}
}

// The agent's own calls match the hook as well, and are not given to another agent.
func TestAnAgentJudgesForAHook(t *testing.T) {
	conditions := 0
	r, returned, _ := judgedTurn(t, `{"PreToolUse":[{"hooks":[{"type":"agent","prompt":"CONDITION: note.txt allows it","timeout":20}]}]}`, func(q *script.Request) script.Turn {
		if q.Turn == 0 {
			conditions++
			return script.Turn{Blocks: []script.Block{call("Bash", `{"command":"echo allowed"}`)}}
		}
		if !strings.Contains(q.LastText(), "allowed") {
			t.Errorf("the agent's call returned %q", q.LastText())
		}
		return says(`{"ok": false, "reason": "the note does not"}`)
	})
	if conditions != 1 || len(r.server.Requests()) != 4 {
		t.Errorf("%d agents, %d requests; want 1 and 4", conditions, len(r.server.Requests()))
	}
	var denied bool
	for _, ev := range returned {
		denied = denied || strings.Contains(ev.Outcome.Result.Text(), "the note does not")
	}
	if !denied {
		t.Errorf("the call was not denied: %+v", returned)
	}
}

package harness_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/answers"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/script"
)

// asked are the models that the requests so far named.
func (r *rig) asked() (names []string) {
	for _, req := range r.server.Requests() {
		names = append(names, req.Model)
	}
	return names
}

// reopen continues with a session without saying with which model or mode.
func (r *rig) reopen(h harness.Options, id string) *harness.Conversation {
	r.t.Helper()
	r.t.Setenv("ANTHROPIC_BASE_URL", r.server.URL())
	r.t.Setenv("ANTHROPIC_API_KEY", "k")
	r.t.Setenv("ANTHROPIC_AUTH_TOKEN", "")
	h.Dir = r.dir
	w, err := harness.Open(&h)
	if err != nil {
		r.t.Fatal(err)
	}
	c, err := w.Talk(r.t.Context(), &harness.TalkOptions{Resume: id})
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (r *rig) close(c *harness.Conversation) {
	r.t.Helper()
	if err := c.Close(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

func TestTheModelOfASkillIsThatOfItsTurn(t *testing.T) {
	r := newRig(t,
		script.Turn{Blocks: []script.Block{call("Skill", `{"skill":"small"}`)}},
		script.Turn{Blocks: []script.Block{{Text: "done"}}},
		script.Turn{Blocks: []script.Block{{Text: "again"}}},
	)
	dir := filepath.Join(os.Getenv("HOME"), ".claude", "skills", "small")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("---\nname: small\ndescription: quick work\nmodel: haiku\n---\nBe quick.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	defer c.Close(t.Context())
	r.say(c, "use the skill")
	r.say(c, "and now?")
	if got, want := fmt.Sprint(r.asked()), "[claude-opus-5-5 claude-haiku-5-5 claude-opus-5-5]"; got != want {
		t.Errorf("the models that were asked are %s, want %s", got, want)
	}
}

func TestAResumedSessionHasTheModelThatItWasLeftWith(t *testing.T) {
	r := newRig(t, script.Turn{Blocks: []script.Block{{Text: "one"}}}, script.Turn{Blocks: []script.Block{{Text: "two"}}}, script.Turn{Blocks: []script.Block{{Text: "three"}}})
	c := r.reopen(harness.Options{}, "")
	id := c.Agent.Session()
	r.say(c, "hi")
	if text, _ := answerOf(c, nil, "model", "sonnet"); !strings.Contains(text, "claude-sonnet-5-5") {
		t.Fatal(text)
	}
	r.close(c)
	c = r.reopen(harness.Options{}, id)
	r.say(c, "hi")
	r.close(c)
	c = r.reopen(harness.Options{}, id)
	defer c.Close(t.Context())
	r.say(c, "hi")
	if got, want := fmt.Sprint(r.asked()), "[claude-opus-5-5 claude-sonnet-5-5 claude-sonnet-5-5]"; got != want {
		t.Errorf("the models that were asked are %s, want %s", got, want)
	}
}

func TestAResumedSessionIsNeverLessCarefulThanItsStart(t *testing.T) {
	for _, tc := range []struct{ name, start, left, again, want string }{
		{"a session that was left in plan mode plans on", "", "plan", "", "plan"},
		{"one that was left accepting edits asks again", "", "acceptEdits", "", "default"},
		{"who asks for a mode gets it", "", "plan", "acceptEdits", "acceptEdits"},
		{"one that left its plan mode does not plan on", "plan", "default", "", "default"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, script.Turn{Blocks: []script.Block{{Text: "one"}}}, script.Turn{Blocks: []script.Block{{Text: "two"}}})
			c := r.talk(harness.Options{Mode: tc.start}, harness.TalkOptions{})
			id := c.Agent.Session()
			r.say(c, "hi")
			if err := c.Agent.SetMode(tc.left); err != nil {
				t.Fatal(err)
			}
			r.close(c)
			c = r.talk(harness.Options{Mode: tc.again}, harness.TalkOptions{Resume: id})
			defer c.Close(t.Context())
			if got := string(c.World.Engine.Policy().Mode()); got != tc.want {
				t.Errorf("the mode is %s, want %s", got, tc.want)
			}
			events, _ := r.say(c, "hi")
			if told := strings.Contains(noticed(events), "continues in the permission mode"); told != (tc.want == "plan") {
				t.Errorf("told: %q", noticed(events))
			}
		})
	}
}

func TestAModeThatWasChosenBeforeTheFirstPromptIsKept(t *testing.T) {
	r := newRig(t, script.Turn{Blocks: []script.Block{{Text: "one"}}})
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	id := c.Agent.Session()
	if err := c.Agent.SetMode("plan"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(c.Journal().Path()); !os.IsNotExist(err) {
		t.Errorf("a session in which nothing was said is on the disk: %v", err)
	}
	r.say(c, "hi")
	r.close(c)
	c = r.talk(harness.Options{}, harness.TalkOptions{Resume: id})
	defer c.Close(t.Context())
	if got := string(c.World.Engine.Policy().Mode()); got != "plan" {
		t.Errorf("the mode is %s", got)
	}
}

func TestWhatASessionHasCostIsNotForgotten(t *testing.T) {
	r := newRig(t, script.Turn{Blocks: []script.Block{{Text: "one"}}}, script.Turn{Blocks: []script.Block{{Text: "two"}}})
	c := r.reopen(harness.Options{}, "")
	id := c.Agent.Session()
	_, first := r.say(c, "hi")
	c.Agent.Spend("claude-haiku-5-5", model.Usage{Input: 1000, Output: 100}) // as an agent in the background does
	cost := usd(c.Agent.Usage())
	if cost == 0 || first.Total == nil {
		t.Fatal("the first turn cost nothing")
	}
	r.close(c)
	c = r.reopen(harness.Options{}, id)
	if got := usd(c.Agent.Usage()); got != cost {
		t.Errorf("a resumed session has cost $%f, want $%f", got, cost)
	}
	if text := answers.Cost(c, nil); strings.Contains(text, "$0.0000") {
		t.Error(text)
	}
	r.say(c, "hi")
	more := usd(c.Agent.Usage())
	r.close(c)
	c = r.reopen(harness.Options{}, id)
	defer c.Close(t.Context())
	if got := usd(c.Agent.Usage()); got != more || more <= cost {
		t.Errorf("after another turn it has cost $%f, want $%f, which is more than $%f", got, more, cost)
	}
}

// usd is what was spent, to a millionth: the order of a sum makes a difference.
func usd(used map[string]agent.ModelUsage) float64 {
	sum := 0.0
	for _, u := range used {
		sum += u.Cost
	}
	return math.Round(sum*1e6) / 1e6
}

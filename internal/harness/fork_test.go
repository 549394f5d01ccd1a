package harness_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/tools/subagent"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/script"
)

const (
	forkSkill   = "---\ndescription: forks\ncontext: fork\nagent: helper\nmodel: haiku\nallowed-tools: Bash(touch made)\n---\nFORK TEXT for $ARGUMENTS\n"
	helperAgent = "---\nname: helper\ndescription: Helps\ntools: Bash, Read\nmodel: opus\n---\nHELPER PROMPT\n"
)

// forked is a rig whose skill and command are done by an agent that touches a file.
func forked(t *testing.T, main ...script.Turn) *rig {
	r := newRig(t)
	r.put(".claude/skills/forky/SKILL.md", forkSkill)
	r.put(".claude/commands/forkc.md", forkSkill)
	r.put(".claude/agents/helper.md", helperAgent)
	r.play(main, map[string][]script.Turn{"FORK TEXT": {uses("Bash", `{"command":"touch made"}`), says("FORK REPORT")}})
	return r
}

// bodiesWith are the requests that hold a text.
func (r *rig) bodiesWith(text string) (bodies []string) {
	for _, b := range r.bodies() {
		if strings.Contains(b, text) {
			bodies = append(bodies, b)
		}
	}
	return bodies
}

// TestAForkedTextIsDoneByAnAgent: of the kind and with the model that it names, with what it allows itself, and its
// report is the result of the call, whether it is a skill or a command.
func TestAForkedTextIsDoneByAnAgent(t *testing.T) {
	for name, c := range map[string]script.Turn{
		"Skill":        uses("Skill", `{"skill":"forky","args":"mice"}`),
		"SlashCommand": uses("SlashCommand", `{"command":"/forkc mice"}`),
	} {
		t.Run(name, func(t *testing.T) {
			r := forked(t, c, uses("Bash", `{"command":"touch other"}`), says("done"))
			talk := r.talk(harness.Options{TrustProject: true, Allowed: []string{"Skill(forky)", "SlashCommand(/forkc:*)"}}, harness.TalkOptions{})
			defer talk.Close(t.Context())
			events, _ := r.say(talk, "go")
			outs := outcomes(events, name, false)
			if len(outs) != 1 || outs[0].Result.Failed || !strings.Contains(outs[0].Result.Text(), "FORK REPORT") {
				t.Fatalf("the call returned %+v", outs)
			}
			if _, err := os.Stat(filepath.Join(r.dir, "made")); err != nil {
				t.Errorf("the agent was not allowed what the text allows: %v", err)
			}
			if bash := outcomes(events, "Bash", false); len(bash) != 1 || !bash[0].Result.Failed {
				t.Errorf("what the text allows holds for the conversation, too: %+v", bash)
			}
			child := r.bodiesWith("HELPER PROMPT")
			if len(child) != 2 || !strings.Contains(child[0], `FORK TEXT for mice`) || !strings.Contains(child[0], "haiku") || strings.Contains(child[0], `"name":"Write"`) {
				t.Errorf("%d requests of the agent, the first:\n%.1500s", len(child), strings.Join(child, "\n"))
			}
			for _, b := range r.bodies() {
				if !strings.Contains(b, "HELPER PROMPT") && strings.Contains(b, "FORK TEXT") {
					t.Errorf("the main conversation has the text:\n%.500s", b)
				}
			}
		})
	}
}

// TestATypedForkAnswersInPlaceOfTheModel: the main conversation asks no model, and knows the report afterwards, also
// when the session is resumed.
func TestATypedForkAnswersInPlaceOfTheModel(t *testing.T) {
	for _, name := range []string{"forky", "forkc"} {
		t.Run(name, func(t *testing.T) {
			r := forked(t, says("MAIN ANSWER"), says("MAIN AGAIN"))
			options := harness.Options{TrustProject: true}
			talk := r.talk(options, harness.TalkOptions{})
			id := talk.Agent.Session()
			typed, ok, err := talk.Input().Read(t.Context(), "/"+name+" mice")
			if !ok || err != nil || typed.Answer == nil || typed.Text != "/"+name+" mice" {
				t.Fatalf("%+v, %v, %v", typed, ok, err)
			}
			talk.Send(agent.Prompt{Content: []model.Block{model.TextOf(typed.Text)}, Answer: typed.Answer})
			res := r.run(talk)
			if res.Reason != agent.Completed || res.Text != "FORK REPORT" || res.Requests != 0 || len(r.bodies()) != 2 {
				t.Errorf("result %+v after %d requests", res, len(r.bodies()))
			}
			r.say(talk, "and then?")
			r.close(talk)
			talk = r.talk(options, harness.TalkOptions{Resume: id})
			defer talk.Close(t.Context())
			r.say(talk, "and now?")
			for i, b := range r.bodies()[2:] {
				at := strings.Index(b, "/"+name+" mice")
				if report := strings.Index(b, "FORK REPORT"); at < 0 || report < at || strings.Contains(b, "FORK TEXT") {
					t.Errorf("request %d does not know what was typed and what came of it:\n%s", i, b)
				}
			}
		})
	}
}

// TestATypedForkCanBeInterrupted, and says that it did not finish.
func TestATypedForkCanBeInterrupted(t *testing.T) {
	r := forked(t)
	r.play(nil, map[string][]script.Turn{"FORK TEXT": {hangs()}})
	talk := r.talk(harness.Options{TrustProject: true}, harness.TalkOptions{})
	defer talk.Close(t.Context())
	typed, _, err := talk.Input().Read(t.Context(), "/forky")
	if err != nil {
		t.Fatal(err)
	}
	talk.Send(agent.Prompt{Content: []model.Block{model.TextOf(typed.Text)}, Answer: typed.Answer})
	var last agent.Event
	for ev, err := range talk.Run(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if said, ok := ev.(agent.Said); ok && said.Agent != "" {
			talk.Agent.Interrupt("")
		}
		last = ev
	}
	if res, ok := last.(agent.Result); !ok || res.Reason != agent.AbortedTools {
		t.Errorf("it ended with %+v", last)
	}
}

// TestAForkNeedsItsAgent: one that does not exist, is not trusted or is denied by a rule is not replaced by another.
func TestAForkNeedsItsAgent(t *testing.T) {
	for name, c := range map[string]struct {
		agent, want string
		disallowed  []string
	}{
		"unknown": {"nobody", "There is no agent", nil},
		"denied":  {"helper", "a rule denies", []string{"Agent(helper)"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := forked(t, uses("Skill", `{"skill":"forky"}`), says("done"))
			r.put(".claude/skills/forky/SKILL.md", "---\ndescription: forks\ncontext: fork\nagent: "+c.agent+"\n---\nFORK TEXT\n")
			talk := r.talk(harness.Options{TrustProject: true, Disallowed: c.disallowed}, harness.TalkOptions{})
			defer talk.Close(t.Context())
			events, _ := r.say(talk, "go")
			if outs := outcomes(events, "Skill", false); len(outs) != 1 || !strings.Contains(outs[0].Result.Text(), c.want) {
				t.Errorf("the call returned %+v", outs)
			}
			typed, _, err := talk.Input().Read(t.Context(), "/forky")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := typed.Answer(context.Background()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("typed: %v", err)
			}
			if len(r.bodiesWith("FORK TEXT")) != 0 {
				t.Error("an agent did it")
			}
		})
	}
}

// hookLines are hooks that note each Bash call and each end, and deny calls with the word "forbidden".
const hookLines = `hooks:
  PreToolUse:
    - matcher: Bash
      hooks:
        - type: command
          command: if grep -q forbidden; then echo NOT HERE >&2; exit 2; fi; echo call >>"$CLAUDE_PROJECT_DIR/log"
  Stop:
    - hooks:
        - type: command
          command: echo end >>"$CLAUDE_PROJECT_DIR/log"
`

// TestHooksOfAgentsAndForks run for the calls of that agent and at its end, and for nothing else, also when it is
// woken again.
func TestHooksOfAgentsAndForks(t *testing.T) {
	tries := []script.Turn{uses("Bash", `{"command":"echo forbidden"}`), uses("Bash", `{"command":"echo fine"}`), says("FORK REPORT")}
	for name, c := range map[string]struct {
		skill, agent string
		start        script.Turn
	}{
		"an agent": {"x", strings.Replace(helperAgent, "model: opus\n", hookLines, 1), uses("Agent", `{"description":"d","prompt":"FORK TEXT","subagent_type":"helper","run_in_background":false}`)},
		"a fork":   {strings.Replace(forkSkill, "model: haiku\n", hookLines, 1), helperAgent, uses("Skill", `{"skill":"forky"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			r := forked(t)
			r.put(".claude/skills/forky/SKILL.md", c.skill)
			r.put(".claude/agents/helper.md", c.agent)
			r.play([]script.Turn{uses("Bash", `{"command":"echo forbidden 1"}`), c.start, uses("Bash", `{"command":"echo forbidden 2"}`), says("done")}, map[string][]script.Turn{"FORK TEXT": tries})
			options := harness.Options{TrustProject: true, Allowed: []string{"Skill(forky)", "Bash(echo:*)"}}
			talk := r.talk(options, harness.TalkOptions{})
			id := talk.Agent.Session()
			events, _ := r.say(talk, "go")
			for _, out := range outcomes(events, "Bash", false) {
				if out.Result.Failed {
					t.Errorf("a call of the main conversation was denied: %s", out.Result.Text())
				}
			}
			log := func() string {
				text, _ := os.ReadFile(filepath.Join(r.dir, "log"))
				return string(text)
			}
			if got := log(); got != "call\nend\n" {
				t.Errorf("the hooks noted %q", got)
			}
			if len(r.bodiesWith("NOT HERE")) == 0 {
				t.Error("the hook did not deny the call")
			}
			// The agent is made again from its transcript, with the same hooks.
			known := talk.Agents()
			r.close(talk)
			if len(known) != 1 {
				t.Fatalf("agents %+v", known)
			}
			r.play([]script.Turn{{}, {}, {}, {}, uses("SendMessage", `{"to":"`+known[0].ID+`","message":"again"}`), says("done")}, map[string][]script.Turn{"FORK TEXT": append(tries, tries...)})
			talk = r.talk(options, harness.TalkOptions{Resume: id})
			defer talk.Close(t.Context())
			r.say(talk, "wake it")
			if got := log(); got != "call\nend\ncall\nend\n" {
				t.Errorf("after it was woken, the hooks noted %q", got)
			}
		})
	}
}

// TestHooksOfTheAgentThatLeads run in the whole conversation.
func TestHooksOfTheAgentThatLeads(t *testing.T) {
	r := newRig(t)
	r.put(".claude/agents/helper.md", strings.Replace(helperAgent, "model: opus\n", hookLines, 1))
	r = r.with(uses("Bash", `{"command":"echo forbidden"}`), uses("Bash", `{"command":"echo fine"}`), says("done"))
	talk := r.talk(harness.Options{TrustProject: true, Agent: "helper", Allowed: []string{"Bash(echo:*)"}}, harness.TalkOptions{})
	defer talk.Close(t.Context())
	if got := r.bashed(talk, "go"); !strings.Contains(got, "NOT HERE") {
		t.Errorf("the calls returned %s", got)
	}
	if log, _ := os.ReadFile(filepath.Join(r.dir, "log")); string(log) != "call\nend\n" {
		t.Errorf("the hooks noted %q", log)
	}
}

// TestHooksOfACommand run from when it is used on, as those of a skill do.
func TestHooksOfACommand(t *testing.T) {
	for name, load := range map[string]bool{"by the model": true, "typed": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.put(".claude/commands/guard.md", "---\ndescription: guards\n"+hookLines+"---\nGUARD TEXT\n")
			turns := forbidden()
			if load {
				turns = append(turns, uses("SlashCommand", `{"command":"/guard"}`))
			}
			r = r.with(append(turns, append(forbidden(), forbidden()...)...)...)
			options := harness.Options{TrustProject: true, Allowed: []string{"SlashCommand(/guard)", "Bash(echo:*)"}}
			c := r.talk(options, harness.TalkOptions{})
			id := c.Agent.Session()
			if got := r.bashed(c, "try"); !strings.HasPrefix(got, "forbidden") {
				t.Errorf("before the command is used: %s", got)
			}
			prompt := "use it"
			if !load {
				typed, ok, err := c.Input().Read(t.Context(), "/guard")
				if prompt = typed.Text; !ok || err != nil {
					t.Fatalf("%+v, %v, %v", typed, ok, err)
				}
			}
			if got := r.bashed(c, prompt); !strings.Contains(got, "NOT HERE") {
				t.Errorf("with the command: %s", got)
			}
			r.close(c)
			c = r.talk(options, harness.TalkOptions{Resume: id})
			defer c.Close(t.Context())
			if got := r.bashed(c, "again"); !strings.Contains(got, "NOT HERE") {
				t.Errorf("resumed: %s", got)
			}
		})
	}
}

// TestWhatAForkIsAllowedEndsWithIt: the agent is spoken to again, in the same process and in the next one.
func TestWhatAForkIsAllowedEndsWithIt(t *testing.T) {
	r := forked(t)
	touch := uses("Bash", `{"command":"touch made"}`)
	r.play([]script.Turn{uses("Skill", `{"skill":"forky"}`), says("done")}, map[string][]script.Turn{"FORK TEXT": {touch, says("FORK REPORT"), touch, says("again"), touch, says("again")}})
	options := harness.Options{TrustProject: true, Allowed: []string{"Skill(forky)"}}
	talk := r.talk(options, harness.TalkOptions{})
	id := talk.Agent.Session()
	r.say(talk, "go")
	made := filepath.Join(r.dir, "made")
	if err := os.Remove(made); err != nil {
		t.Fatalf("the fork was not allowed what its text allows: %v", err)
	}
	known := talk.Agents()
	if len(known) != 1 {
		t.Fatalf("agents %+v", known)
	}
	for _, when := range []string{"the same process", "the next one"} {
		if when == "the next one" {
			r.close(talk)
			talk = r.talk(options, harness.TalkOptions{Resume: id})
			defer talk.Close(t.Context())
		}
		before := len(r.bodiesWith("FORK TEXT"))
		if _, err := talk.World.Crew.Send(t.Context(), subagent.Message{To: known[0].ID, Text: "continue"}); err != nil {
			t.Fatal(err)
		}
		r.say(talk, "wait for it")
		if after := len(r.bodiesWith("FORK TEXT")); after != before+2 {
			t.Errorf("in %s: %d requests of the agent, want 2", when, after-before)
		}
		if _, err := os.Stat(made); err == nil {
			t.Errorf("in %s the agent is still allowed what the text allows", when)
		}
	}
}

// TestHooksOfAnAgentGuardThoseThatItStarts: their calls, and not their ends.
func TestHooksOfAnAgentGuardThoseThatItStarts(t *testing.T) {
	r := newRig(t)
	r.put(".claude/agents/helper.md", strings.Replace(strings.Replace(helperAgent, "model: opus\n", hookLines, 1), "Bash, Read", "Bash, Agent", 1))
	start := func(kind, prompt string) script.Turn {
		return uses("Agent", `{"description":"d","prompt":"`+prompt+`","subagent_type":"`+kind+`","run_in_background":false}`)
	}
	r.play([]script.Turn{start("helper", "OUTER TEXT"), says("done")}, map[string][]script.Turn{
		"OUTER TEXT": {start("general-purpose", "INNER WORK"), says("outer")},
		"INNER WORK": {uses("Bash", `{"command":"echo forbidden"}`), uses("Bash", `{"command":"echo fine"}`), says("inner")},
	})
	talk := r.talk(harness.Options{TrustProject: true, Allowed: []string{"Bash(echo:*)"}}, harness.TalkOptions{})
	defer talk.Close(t.Context())
	r.say(talk, "go")
	if len(r.bodiesWith("NOT HERE")) == 0 {
		t.Error("the hook did not deny the call of the agent that its agent started")
	}
	if log, _ := os.ReadFile(filepath.Join(r.dir, "log")); string(log) != "call\nend\n" {
		t.Errorf("the hooks noted %q", log)
	}
}

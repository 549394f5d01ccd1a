package harness_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/tool"
)

// bodies are the requests so far, without the one that each is for.
func (r *rig) bodies() (texts []string) {
	for _, req := range r.server.Requests() {
		texts = append(texts, string(req.Body))
	}
	return texts
}

// TestInstructionsOfAFolderAreToldWhenAFileInItIsRead: once, after the result of the call, again only after a
// compaction, and never those of dependencies or of what is outside the project.
func TestInstructionsOfAFolderAreToldWhenAFileInItIsRead(t *testing.T) {
	r := newRig(t)
	deep, beside := r.put("pkg/deep/a.txt", "a\n"), r.put("pkg/deep/b.txt", "b\n")
	r.put("pkg/CLAUDE.md", "PACKAGE RULES @../../secret.md")
	r.put("pkg/deep/AGENTS.md", "DEEP RULES")
	r.put("CLAUDE.md", "TOP RULES")
	dependency := r.put("node_modules/x/index.js", "x\n")
	r.put("node_modules/x/CLAUDE.md", "FOREIGN RULES")
	if err := os.WriteFile(filepath.Join(filepath.Dir(r.dir), "secret.md"), []byte("OUTSIDE TEXT"), 0o644); err != nil {
		t.Fatal(err)
	}
	read := func(path string) script.Turn {
		return script.Turn{Blocks: []script.Block{call("Read", in("file_path", path))}}
	}
	r = r.with(read(deep), read(beside), read(dependency), says("done"), says("resumed"), says("<summary>short</summary>"), says("compacted"))
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	id := c.Agent.Session()
	r.say(c, "read")
	bodies := r.bodies()
	for i, want := range []int{0, 1, 1, 1} {
		for _, rules := range []string{"PACKAGE RULES", "DEEP RULES"} {
			if n := strings.Count(bodies[i], rules); n != want {
				t.Errorf("request %d has %s %d times, want %d", i+1, rules, n, want)
			}
		}
		if n := strings.Count(bodies[i], "TOP RULES"); n != 1 {
			t.Errorf("request %d has the top rules %d times", i+1, n)
		}
	}
	if all := bodies[3]; strings.Contains(all, "FOREIGN RULES") || strings.Contains(all, "OUTSIDE TEXT") {
		t.Errorf("told what is not the project's:\n%s", all)
	}
	r.close(c)
	c = r.talk(harness.Options{}, harness.TalkOptions{Resume: id})
	defer c.Close(t.Context())
	r.say(c, "and now?")
	if body := r.bodies()[4]; strings.Count(body, "DEEP RULES") != 1 {
		t.Errorf("the resumed conversation is told %d times", strings.Count(body, "DEEP RULES"))
	}
	c.Agent.Compact("")
	before := len(r.bodies())
	r.say(c, "continue")
	if body := r.bodies()[before+1]; !strings.Contains(body, "DEEP RULES") { // the one after that for the summary
		t.Errorf("after a compaction the rules are lost:\n%s", body)
	}
}

func TestASkillStaysAfterACompaction(t *testing.T) {
	r := newRig(t)
	r.put(".claude/skills/paint/SKILL.md", "---\nname: paint\ndescription: how to paint\n---\nALWAYS STIR FIRST\n")
	r = r.with(script.Turn{Blocks: []script.Block{call("Skill", `{"skill":"paint"}`)}}, says("done"), says("<summary>short</summary>"), says("compacted"))
	c := r.talk(harness.Options{TrustProject: true}, harness.TalkOptions{})
	id := c.Agent.Session()
	r.say(c, "paint")
	r.close(c) // it outlives the process, too
	c = r.talk(harness.Options{TrustProject: true}, harness.TalkOptions{Resume: id})
	defer c.Close(t.Context())
	c.Agent.Compact("")
	before := len(r.bodies())
	r.say(c, "continue")
	if last := r.bodies()[before+1]; strings.Count(last, "ALWAYS STIR FIRST") != 1 || !strings.Contains(last, "You have loaded the skill paint") {
		t.Errorf("the skill is lost:\n%s", last)
	}
}

// TestTheModelIsToldWhatARewindRestored: when the conversation stays, and by the next process as well.
func TestTheModelIsToldWhatARewindRestored(t *testing.T) {
	r := newRig(t)
	path := filepath.Join(r.dir, "made.txt")
	r = r.with(script.Turn{Blocks: []script.Block{call("Write", in("file_path", path, "content", "x\n"))}}, says("done"), says("again"), says("later"))
	c := r.talk(harness.Options{Mode: "acceptEdits"}, harness.TalkOptions{})
	id := c.Agent.Session()
	r.say(c, "write")
	plan, err := c.PlanRewind(t.Context(), "")
	if err != nil || len(plan.Steps) != 1 {
		t.Fatalf("%+v, %v", plan, err)
	}
	if _, err := c.Rewind(t.Context(), plan, false); err != nil {
		t.Fatal(err)
	}
	r.close(c)
	c = r.talk(harness.Options{Mode: "acceptEdits"}, harness.TalkOptions{Resume: id})
	defer c.Close(t.Context())
	r.say(c, "look")
	r.say(c, "look again")
	bodies := r.bodies()
	for _, body := range bodies[2:] {
		if n := strings.Count(body, "deleted made.txt"); n != 1 {
			t.Errorf("told %d times:\n%s", n, body)
		}
	}
}

func TestARewoundConversationKeepsWhatTheUserAllowed(t *testing.T) {
	r := newRig(t, says("one"), says("two"))
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	id := c.Agent.Session()
	r.say(c, "begin")
	c.World.Engine.Grant(permission.Rule{Text: "Bash(make:*)", Behavior: tool.Allow, Origin: settings.Origin{Source: settings.Session}})
	if err := c.Agent.SetMode("acceptEdits"); err != nil {
		t.Fatal(err)
	}
	added := t.TempDir()
	if err := c.AddDirectories([]string{added}); err != nil {
		t.Fatal(err)
	}
	plan, err := c.PlanRewind(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	kept := c.Keep()
	kept.Unchanged(plan) // nothing was changed, and nothing is told
	r.close(c)
	c = r.talk(harness.Options{}, harness.TalkOptions{Resume: id, Kept: kept})
	defer c.Close(t.Context())
	policy := c.World.Engine.Policy()
	if policy.Mode() != "acceptEdits" || !strings.Contains(strings.Join(policy.Allowed(), " "), "Bash(make:*)") || len(c.World.Engine.Guard().Roots()) != 2 {
		t.Errorf("mode %s, rules %v, roots %v", policy.Mode(), policy.Allowed(), c.World.Engine.Guard().Roots())
	}
	r.say(c, "again")
	if all := r.bodies(); strings.Contains(all[1], "returned the conversation to this point") {
		t.Errorf("told without need:\n%s", all[1])
	}
}

// TestTheModelIsToldWhichCommandsEndedWithTheSession: by the process that resumes it, once.
func TestTheModelIsToldWhichCommandsEndedWithTheSession(t *testing.T) {
	r := newRig(t, script.Turn{Blocks: []script.Block{call("Bash", `{"command":"echo begun; sleep 1000","run_in_background":true}`)}}, says("started"), says("again"), says("later"))
	c := r.talk(harness.Options{Allowed: []string{"Bash"}}, harness.TalkOptions{})
	id := c.Agent.Session()
	c.Send(agent.Prompt{Content: []model.Block{model.TextOf("serve")}})
	for _, err := range c.RunAwaiting(t.Context(), func(agent.Task) bool { return false }) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if running := c.Running(); !strings.Contains(running, "sleep 1000") {
		t.Errorf("running: %q", running)
	}
	r.close(c)
	c = r.talk(harness.Options{}, harness.TalkOptions{Resume: id})
	defer c.Close(t.Context())
	r.say(c, "look")
	r.say(c, "look again")
	for _, body := range r.bodies()[2:] {
		if n := strings.Count(body, "ended when the session was closed"); n != 1 {
			t.Errorf("told %d times:\n%s", n, body)
		}
	}
}

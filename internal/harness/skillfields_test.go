package harness_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model/script"
)

// TestASkillWithPathsIsOfferedWhenSuchAFileIsReadOrWritten: not before, once, by the resumed session no second time,
// and one that a rule denies never.
func TestASkillWithPathsIsOfferedWhenSuchAFileIsReadOrWritten(t *testing.T) {
	r := newRig(t)
	r.put(".claude/skills/gopher/SKILL.md", "---\ndescription: HOW TO GO\npaths: \"src/**/*.go, *.mod\"\n---\nGO TEXT\n")
	r.put(".claude/skills/writer/SKILL.md", "---\ndescription: HOW TO WRITE\npaths:\n  - \"**/*.{md,txt}\"\n---\nx\n")
	r.put(".claude/skills/banned/SKILL.md", "---\ndescription: HOW TO BE DENIED\npaths: \"**\"\n---\nx\n")
	other, source := r.put("a.go", "package a\n"), r.put("src/b/c.go", "package b\n")
	read := func(path string) script.Turn {
		return script.Turn{Blocks: []script.Block{call("Read", in("file_path", path))}}
	}
	r = r.with(read(other), read(source), read(source),
		script.Turn{Blocks: []script.Block{call("Write", in("file_path", filepath.Join(r.dir, "new.txt"), "content", "x\n"))}},
		script.Turn{Blocks: []script.Block{call("Skill", `{"skill":"gopher"}`)}}, says("done"), says("resumed"))
	options := harness.Options{TrustProject: true, Mode: "acceptEdits", Disallowed: []string{"Skill(banned)"}}
	c := r.talk(options, harness.TalkOptions{})
	id := c.Agent.Session()
	r.say(c, "work")
	r.close(c)
	c = r.talk(options, harness.TalkOptions{Resume: id})
	defer c.Close(t.Context())
	r.say(c, "and now?")
	bodies := r.bodies()
	for i, want := range [][2]int{{0, 0}, {0, 0}, {1, 0}, {1, 0}, {1, 1}, {1, 1}, {1, 1}} {
		if got := [2]int{strings.Count(bodies[i], "HOW TO GO"), strings.Count(bodies[i], "HOW TO WRITE")}; got != want {
			t.Errorf("request %d names the skills %v times, want %v", i+1, got, want)
		}
		if strings.Contains(bodies[i], "HOW TO BE DENIED") {
			t.Errorf("request %d offers what a rule denies", i+1)
		}
	}
	if !strings.Contains(bodies[5], "GO TEXT") {
		t.Errorf("the skill that was offered is not loaded:\n%s", bodies[5])
	}
}

// guardSkill is a skill whose hooks note each Bash call, the first one apart, and deny those with the word "forbidden".
const guardSkill = `---
description: guards
hooks:
  PreToolUse:
    - matcher: Bash
      hooks:
        - type: command
          command: sh "${CLAUDE_SKILL_DIR}/check.sh"
        - type: command
          command: echo once >>"$CLAUDE_PROJECT_DIR/once.log"
          once: true
---
GUARD TEXT
`

const guardScript = `if grep -q forbidden; then echo "NOT IN THIS SKILL" >&2; exit 2; fi`

// forbidden is a call that the guard denies, and what follows.
func forbidden(then ...script.Turn) []script.Turn {
	return append([]script.Turn{{Blocks: []script.Block{call("Bash", `{"command":"echo forbidden"}`)}}}, append(then, says("done"))...)
}

// own writes a file of the user.
func (r *rig) own(path, text string) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// bashed says something and returns the results of the Bash calls of a turn.
func (r *rig) bashed(c *harness.Conversation, prompt string) string {
	r.t.Helper()
	events, _ := r.say(c, prompt)
	var texts []string
	for _, out := range outcomes(events, "Bash", false) {
		texts = append(texts, out.Result.Text())
	}
	return strings.Join(texts, " | ")
}

// TestHooksOfASkillRunFromItsLoadingOn: not before, for the rest of the session, in the process that resumes it, one
// that is for once a single time, and not after the conversation was cleared. The user's own need no trust.
func TestHooksOfASkillRunFromItsLoadingOn(t *testing.T) {
	for name, load := range map[string]bool{"by the model": true, "typed": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			home := filepath.Join(os.Getenv("HOME"), ".claude/skills/guard")
			r.own(filepath.Join(home, "SKILL.md"), guardSkill)
			r.own(filepath.Join(home, "check.sh"), guardScript)
			turns := forbidden()
			if load {
				turns = append(turns, script.Turn{Blocks: []script.Block{call("Skill", `{"skill":"guard"}`)}})
			}
			turns = slices.Concat(turns, forbidden(), forbidden(), forbidden(), forbidden())
			r = r.with(turns...)
			options := harness.Options{Allowed: []string{"Skill(guard)", "Bash(echo:*)"}}
			c := r.talk(options, harness.TalkOptions{})
			id := c.Agent.Session()
			if got := r.bashed(c, "try"); !strings.HasPrefix(got, "forbidden") {
				t.Errorf("before the skill is loaded: %s", got)
			}
			prompt := "use the skill"
			if !load {
				typed, ok, err := c.Input().Read(t.Context(), "/guard")
				if prompt = typed.Text; !ok || err != nil || !strings.Contains(prompt, "GUARD TEXT") {
					t.Fatalf("%+v, %v, %v", typed, ok, err)
				}
			}
			denied := func(when, prompt string) {
				t.Helper()
				if got := r.bashed(c, prompt); !strings.Contains(got, "NOT IN THIS SKILL") {
					t.Errorf("%s: %s", when, got)
				}
			}
			denied("with the skill", prompt)
			denied("in the next turn", "again")
			r.close(c)
			c = r.talk(options, harness.TalkOptions{Resume: id})
			defer c.Close(t.Context())
			denied("resumed", "again")
			c.Agent.Clear()
			if got := r.bashed(c, "after that"); !strings.HasPrefix(got, "forbidden") {
				t.Errorf("after the conversation was cleared: %s", got)
			}
			if log, _ := os.ReadFile(filepath.Join(r.dir, "once.log")); string(log) != "once\nonce\n" { // once in each process
				t.Errorf("the hook that runs once has written %q", log)
			}
		})
	}
}

// TestHooksOfAProjectsSkillNeedTrust: it shows what they run, and a script that changes keeps what they guard from
// happening.
func TestHooksOfAProjectsSkillNeedTrust(t *testing.T) {
	r := newRig(t)
	r.put(".claude/skills/guard/SKILL.md", strings.Replace(guardSkill, "${CLAUDE_SKILL_DIR}/check.sh", "$CLAUDE_PROJECT_DIR/tools/check.sh", 1))
	r.put("tools/check.sh", "exit 0")
	load := script.Turn{Blocks: []script.Block{call("Skill", `{"skill":"guard"}`)}}
	r = r.with(slices.Concat([]script.Turn{load}, forbidden(), []script.Turn{load}, forbidden(), forbidden())...)
	options := harness.Options{Allowed: []string{"Skill(guard)", "Bash(echo:*)"}}
	c := r.talk(options, harness.TalkOptions{})
	defer c.Close(t.Context())
	if got := r.bashed(c, "untrusted"); !strings.HasPrefix(got, "forbidden") || !strings.Contains(r.bodies()[1], "not trusted") {
		t.Errorf("without trust: %s", got)
	}
	folder, items := c.World.Project.Folder, c.World.Project.Items()
	if len(items) != 1 || !strings.Contains(items[0].String(), "hook: PreToolUse Bash runs sh") || !slices.Contains(items[0].Files, "/tools/check.sh") {
		t.Fatalf("trust shows %v of %v", items, items[0].Files)
	}
	if err := folder.Grant(t.Context(), items...); err != nil {
		t.Fatal(err)
	}
	if got := r.bashed(c, "trusted"); !strings.HasPrefix(got, "forbidden") {
		t.Errorf("with trust: %s", got)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "once.log")); err != nil {
		t.Errorf("the hooks did not run: %v", err)
	}
	r.put("tools/check.sh", "exit 0 # changed")
	if got := r.bashed(c, "changed"); !strings.Contains(got, "has changed since it was trusted") {
		t.Errorf("with another script: %s", got)
	}
}

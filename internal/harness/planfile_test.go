package harness_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// planPath is the file that a request names for the plan.
func planPath(t *testing.T, q *script.Request) string {
	t.Helper()
	found := regexp.MustCompile(`You may write it to (\S+) first`).FindSubmatch(q.Body)
	if found == nil {
		t.Fatalf("the model is not told where to write its plan:\n%s", q.Body)
	}
	return string(found[1])
}

// TestAPlanIsWrittenToItsFile does what the model is told in plan mode: it writes the plan to
// the file, changes it there and calls ExitPlanMode without one. The user is shown what the file
// holds.
func TestAPlanIsWrittenToItsFile(t *testing.T) {
	r := newRig(t)
	r.serve(func(q *script.Request) script.Turn {
		path := planPath(t, q)
		switch q.Turn {
		case 0:
			return uses("ExitPlanMode", `{}`) // too early
		case 1:
			return uses("Write", in("file_path", path, "content", "1. Paint it red.\n"))
		case 2:
			return uses("Edit", in("file_path", path, "old_string", "red", "new_string", "blue"))
		case 3:
			return uses("ExitPlanMode", `{}`)
		}
		return says("done")
	})
	var shown []string
	c := r.talk(harness.Options{Mode: "plan"}, harness.TalkOptions{Interactive: true, Person: sched.AskerFunc(func(_ context.Context, c tool.Case, q tool.Verdict) (tool.Verdict, error) {
		shown = append(shown, c.Call.Tool+" "+q.Message+" "+string(c.Call.Input))
		return tool.Verdict{Behavior: tool.Allow, Input: c.Call.Input}, nil
	})})
	defer c.Close(t.Context())
	r.say(c, "go")
	if want := `ExitPlanMode 1. Paint it blue.` + "\n" + ` {"plan":"1. Paint it blue.\n"}`; len(shown) != 1 || shown[0] != want {
		t.Errorf("the user is shown %q, want %q", shown, want)
	}
	results := resultsOf(t, c.Agent.History())
	if len(results) != 4 || !strings.Contains(results[0], `send it as "plan", or write it to `) || !strings.Contains(results[3], "approved the plan") {
		t.Errorf("results: %q", results)
	}
	if mode := c.World.Engine.Policy().Mode(); mode != "default" {
		t.Errorf("the mode is %s", mode)
	}
}

// TestOnlyThePlanIsWrittenInPlanMode: nothing beside the file, by nothing but the file tools, and by nobody
// but the main conversation.
func TestOnlyThePlanIsWrittenInPlanMode(t *testing.T) {
	r := newRig(t)
	r.play([]script.Turn{says("hello")}, nil)
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	defer c.Close(t.Context())
	r.say(c, "hello")
	path := c.World.Project.Kept.PlanFile()
	write := func(path string) string { return in("file_path", path, "content", "x") }
	for _, mode := range permission.Modes() {
		if out := callIn(t, c, mode, "Write", write(path)); out.Status != sched.Succeeded {
			t.Errorf("in the mode %s the plan is not written: %s", mode, out.Result.Text())
		}
		if out := callIn(t, c, mode, "Read", in("file_path", path)); out.Status != sched.Succeeded {
			t.Errorf("in the mode %s the plan is not read: %s", mode, out.Result.Text())
		}
		for _, tc := range [][2]string{
			{"Write", write(filepath.Join(filepath.Dir(path), "other.md"))},
			{"Write", write(filepath.Join(path, "below.md"))},
			{"Write", write(path + "x")},
			{"Bash", in("command", "echo y > "+path)},
			{"Bash", in("command", "rm "+path)},
		} {
			if out := callIn(t, c, mode, tc[0], tc[1]); out.Status == sched.Succeeded {
				t.Errorf("in the mode %s this ran: %s %s", mode, tc[0], tc[1])
			}
		}
	}
	c.World.Engine.SetMode(permission.Plan)
	if v := c.World.Engine.Policy().Decide(judged(t, c.Agent.Tools(), way{tool: "Write", input: write(path), agent: "a1"})); v.Behavior != tool.Deny {
		t.Errorf("a sub-agent: %s", v.Behavior)
	}
	c.World.Engine.SetMode(permission.Default)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("keep"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, path); err != nil {
		t.Fatal(err)
	}
	if out := callIn(t, c, permission.AcceptEdits, "Write", write(path)); out.Status == sched.Succeeded {
		t.Errorf("a link was followed: %s", out.Result.Text())
	}
	if raw, err := os.ReadFile(outside); err != nil || string(raw) != "keep" {
		t.Errorf("%s %v", raw, err)
	}
}

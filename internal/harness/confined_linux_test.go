package harness_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// userSettings writes the settings of the user of a rig.
func userSettings(t *testing.T, text string) {
	t.Helper()
	dir := os.Getenv("CLAUDE_CONFIG_DIR")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// advice is what a result says about a sandbox that was in the way.
const advice = "call Bash again with dangerouslyDisableSandbox set to true. Such a call needs the user's approval"

// TestTheAdviceOfASandboxIsFollowed has a model do what a result of a confined
// command tells it to do: the user is asked, reads what the command wanted, and the
// command runs.
func TestTheAdviceOfASandboxIsFollowed(t *testing.T) {
	needtest.Need(t, needtest.Namespaces)
	needtest.Program(t, "curl")
	const command = "curl -sSf http://haft.invalid/" // outside it fails, too, without a word about a sandbox
	r := newRig(t,
		script.Turn{Blocks: []script.Block{call("Bash", in("command", command))}},
		script.Turn{Blocks: []script.Block{{Tool: "Bash", Input: encoded(t, map[string]any{"command": command, "dangerouslyDisableSandbox": true})}}},
		script.Turn{Blocks: []script.Block{{Text: "done"}}},
	)
	userSettings(t, `{"sandbox": {"enabled": true}}`)
	user := &agreeing{}
	c := r.talk(harness.Options{Reexec: shellrun.Supervise()}, harness.TalkOptions{Person: user, Interactive: true})
	defer c.Close(t.Context())
	events, _ := r.say(c, "fetch")
	var outcomes []*sched.Outcome
	for _, ev := range events {
		if ev, ok := ev.(agent.Returned); ok {
			outcomes = append(outcomes, ev.Outcome)
		}
	}
	if len(outcomes) != 2 {
		t.Fatalf("%d results", len(outcomes))
	}
	if text := outcomes[0].Result.Text(); !strings.Contains(text, "It tried to reach haft.invalid:80.") || !strings.Contains(text, advice) {
		t.Errorf("the first result is %q", text)
	}
	if to, _ := outcomes[1].Result.Output.(tool.Confined).ConfinedTo(); to != tool.Unconfined || strings.Contains(outcomes[1].Result.Text(), "sandbox") {
		t.Errorf("the second call was confined to %q: %q", to, outcomes[1].Result.Text())
	}
	const why = "it asks to run without the sandbox, in which it wanted to reach haft.invalid:80"
	if len(user.questions) != 1 || user.questions[0].Reason != why || user.questions[0].Confinement != tool.Unconfined {
		t.Errorf("the user was asked %+v", user.questions)
	}
}

// agreeing is a user who allows everything and remembers why they were asked.
type agreeing struct{ questions []tool.Verdict }

func (u *agreeing) Ask(_ context.Context, _ tool.Case, question tool.Verdict) (tool.Verdict, error) {
	u.questions = append(u.questions, question)
	return tool.Verdict{Behavior: tool.Allow, Reason: "the user"}, nil
}

// TestNoSandboxIsTriedBeforeItIsNeeded has a turn without commands, and one with:
// what starts a session does not pay for the sandbox.
func TestNoSandboxIsTriedBeforeItIsNeeded(t *testing.T) {
	needtest.Need(t, needtest.Namespaces)
	r := newRig(t,
		script.Turn{Blocks: []script.Block{{Text: "hello"}}},
		script.Turn{Blocks: []script.Block{call("Bash", in("command", "true"))}},
		script.Turn{Blocks: []script.Block{{Text: "done"}}},
	)
	c := r.talk(harness.Options{Reexec: shellrun.Supervise()}, harness.TalkOptions{Interactive: true})
	defer c.Close(t.Context())
	r.say(c, "hello")
	if s := c.World.Sandbox(); s.Known {
		t.Errorf("the sandbox was tried without a command: %+v", s)
	}
	r.say(c, "run")
	if s := c.World.Sandbox(); !s.Known || s.Tier.Kind != sandbox.TierBox {
		t.Errorf("after a command: %+v", s)
	}
}

// TestACommandThatWasHeldToReadingIsAskedAbout does the same with a command that was
// taken for one that only reads.
func TestACommandThatWasHeldToReadingIsAskedAbout(t *testing.T) {
	needtest.Need(t, needtest.Namespaces)
	r := newRig(t)
	w, err := harness.Open(&harness.Options{Dir: r.dir, Reexec: shellrun.Supervise()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	bashTool := w.Shell.List()[0]
	run := func(to tool.Confinement, input map[string]any) bash.Output {
		c := (&tool.Call{Tool: "Bash", Confinement: to, Session: &tool.Session{}}).WithInput(encoded(t, input))
		result, err := bashTool.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return result.Output.(bash.Output)
	}
	made := filepath.Join(r.dir, "made")
	command := map[string]any{"command": "touch " + made}
	out := run(tool.ReadOnly, command)
	if notes := strings.Join(out.Notes, "\n"); !strings.Contains(notes, "was allowed as read-only") || !strings.Contains(notes, "It tried to write to "+made+".") || !strings.Contains(notes, advice) {
		t.Errorf("the notes are %q", notes)
	}
	command["dangerouslyDisableSandbox"] = true
	v := w.Engine.Judge(t.Context(), tool.Case{Tool: &bashTool, Call: (&tool.Call{Tool: "Bash", Session: &tool.Session{}}).WithInput(encoded(t, command))})
	if v.Behavior != tool.Ask || v.Confinement != tool.Unconfined {
		t.Errorf("the verdict is %+v", v)
	}
	if out := run(v.Confinement, command); out.ExitCode != 0 || out.Confinement != tool.Unconfined || out.Sandbox != "none" {
		t.Errorf("got %+v", out)
	}
	if _, err := os.Stat(made); err != nil {
		t.Error(err)
	}
	if got := w.Shell.Refused("", "touch "+made); got != "write to "+made {
		t.Errorf("it is known that it wanted to %q", got)
	}
}

func encoded(t *testing.T, input map[string]any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

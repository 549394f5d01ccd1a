package harness_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// previewRig is a project where commands that are asked about are previewed. The
// model runs one command.
func previewRig(t *testing.T, command string) *rig {
	t.Helper()
	needtest.Need(t, needtest.Overlay)
	r := newRig(t,
		script.Turn{Blocks: []script.Block{call("Bash", in("command", command))}},
		script.Turn{Blocks: []script.Block{{Text: "done"}}},
	)
	t.Setenv("XDG_STATE_HOME", filepath.Join(os.Getenv("HOME"), ".state"))
	r.put("notes", "1\n")
	time.Sleep(12 * time.Millisecond) // until the clock of file systems has ticked
	return r
}

// A previewAnswer is a user who notes what they were shown.
type previewAnswer struct {
	allow bool
	asked []tool.Case
}

func (a *previewAnswer) Ask(_ context.Context, c tool.Case, _ tool.Verdict) (tool.Verdict, error) {
	a.asked = append(a.asked, c)
	if a.allow {
		return tool.Verdict{Behavior: tool.Allow, Reason: "the user"}, nil
	}
	return tool.Verdict{Behavior: tool.Deny, Reason: "the user"}, nil
}

func bashOutcome(t *testing.T, events []agent.Event) *sched.Outcome {
	t.Helper()
	for _, ev := range events {
		if r, ok := ev.(agent.Returned); ok {
			return r.Outcome
		}
	}
	t.Fatalf("there is no result in %v", events)
	return nil
}

func TestACommandIsAskedAboutByItsChange(t *testing.T) {
	// Each run appends, so that a second one would show.
	const command = `./gen.sh`
	for _, allow := range []bool{true, false} {
		r := previewRig(t, command)
		script := r.put("gen.sh", "#!/bin/sh\necho said\necho 2 >> notes\n")
		if err := os.Chmod(script, 0o755); err != nil {
			t.Fatal(err)
		}
		time.Sleep(12 * time.Millisecond)
		user := &previewAnswer{allow: allow}
		c := r.talk(harness.Options{Reexec: shellrun.Supervise()}, harness.TalkOptions{Person: user, Interactive: true})
		events, _ := r.say(c, "generate")
		out := bashOutcome(t, events)
		if len(user.asked) != 1 || user.asked[0].Preview == nil || len(user.asked[0].Preview.Files) != 1 || string(user.asked[0].Preview.Files[0].After.Text) != "1\n2\n" {
			t.Fatalf("asked %d times, with %+v", len(user.asked), user.asked)
		}
		want, status := "1\n", sched.Denied
		if allow {
			want, status = "1\n2\n", sched.Succeeded
		}
		if out.Status != status || allow && !strings.Contains(out.Result.Text(), "said") {
			t.Errorf("allow %v: %v %q", allow, out.Status, out.Result.Text())
		}
		if got, _ := os.ReadFile(filepath.Join(r.dir, "notes")); string(got) != want {
			t.Errorf("allow %v: the file is %q", allow, got)
		}
		if allow {
			plan, err := c.PlanRewind(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Rewind(t.Context(), plan, false); err != nil {
				t.Error(err)
			}
			if got, _ := os.ReadFile(filepath.Join(r.dir, "notes")); string(got) != "1\n" {
				t.Errorf("after a rewind the file is %q", got)
			}
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestACommandThatChangesNothingIsNotAskedAbout(t *testing.T) {
	r := previewRig(t, "./gen.sh")
	if err := os.Chmod(r.put("gen.sh", "#!/bin/sh\ncat notes\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	user := &previewAnswer{}
	c := r.talk(harness.Options{Reexec: shellrun.Supervise()}, harness.TalkOptions{Person: user, Interactive: true})
	defer c.Close(t.Context())
	events, _ := r.say(c, "look")
	out := bashOutcome(t, events)
	if len(user.asked) != 0 || out.Status != sched.Succeeded || !strings.Contains(out.Result.Text(), "1") || out.Verdict.Reason != "preview: changed nothing" {
		t.Errorf("asked %d times: %v %q, %+v", len(user.asked), out.Status, out.Result.Text(), out.Verdict)
	}
}

func TestWhatAPreviewCannotGiveIsAskedAboutAsACommand(t *testing.T) {
	needtest.Program(t, "curl")
	r := previewRig(t, "./gen.sh")
	if err := os.Chmod(r.put("gen.sh", "#!/bin/sh\ncurl -s http://host.invalid/ || true\necho 2 >> notes\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	user := &previewAnswer{allow: true}
	c := r.talk(harness.Options{Reexec: shellrun.Supervise()}, harness.TalkOptions{Person: user, Interactive: true})
	defer c.Close(t.Context())
	r.say(c, "fetch")
	if len(user.asked) != 1 || user.asked[0].Unclear == nil || !strings.Contains(user.asked[0].Unclear.Error(), "tried to reach host.invalid:80") {
		t.Errorf("asked %+v", user.asked)
	}
	if got, _ := os.ReadFile(filepath.Join(r.dir, "notes")); string(got) != "1\n2\n" {
		t.Errorf("the file is %q", got)
	}
}

// script makes the project's gen.sh, which the model runs.
func (r *rig) script(text string) {
	r.t.Helper()
	if err := os.Chmod(r.put("gen.sh", "#!/bin/sh\n"+text), 0o755); err != nil {
		r.t.Fatal(err)
	}
	time.Sleep(12 * time.Millisecond) // until the clock of file systems has ticked
}

func (r *rig) content(name string) string {
	raw, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// Where nobody can be asked, a change is made if the rules allow all of it. Otherwise the
// result is an error, and the model is told exactly what was dropped and why.
func TestWithoutAUserTheRestOfAChangeIsDropped(t *testing.T) {
	for name, c := range map[string]struct {
		options      harness.Options
		notes, other string
		told         []string
		status       sched.Status
	}{
		"no rule": {
			notes: "1\n", status: sched.Failed,
			told: []string{"Not applied: ", "said", "none of its changes were applied", "/notes: no rule allows this change", "/src/other: no rule allows this change"},
		},
		"a rule for a part": {
			options: harness.Options{Allowed: []string{"Edit(src/**)"}},
			notes:   "1\n", status: sched.Failed,
			told: []string{"Not applied: ", "said", "none of its changes were applied", "/notes: no rule allows this change"},
		},
		"edits are accepted": {
			options: harness.Options{Mode: "acceptEdits"},
			notes:   "1\n2\n", other: "3\n", status: sched.Succeeded, told: []string{"said"},
		},
		"a rule bound to its change": {
			options: harness.Options{Allowed: []string{"Bash(./gen.sh) if Edit(**)"}},
			notes:   "1\n2\n", other: "3\n", status: sched.Succeeded, told: []string{"said"},
		},
		"a denied path": {
			options: harness.Options{Mode: "acceptEdits", Disallowed: []string{"Edit(src/**)"}},
			notes:   "1\n", status: sched.Denied,
			told: []string{"its changes were dropped: it would change", "/src/other", "(rule Edit(src/**)"},
		},
		"switched off": {
			options: harness.Options{Mode: "acceptEdits", Preview: "off"},
			notes:   "1\n", status: sched.Denied, told: []string{"no one can approve it"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := previewRig(t, "./gen.sh")
			r.script("echo said\necho 2 >> notes\nmkdir -p src\necho 3 > src/other\n")
			c.options.Reexec = shellrun.Supervise()
			talk := r.talk(c.options, harness.TalkOptions{})
			defer talk.Close(t.Context())
			events, _ := r.say(talk, "generate")
			out := bashOutcome(t, events)
			text := out.Result.Text()
			for _, want := range c.told {
				if !strings.Contains(text, want) {
					t.Errorf("the model is not told %q: %s", want, text)
				}
			}
			if out.Status != c.status || r.content("notes") != c.notes {
				t.Errorf("%v (%s), and the file is %q", out.Status, out.Verdict.Reason, r.content("notes"))
			}
			if got, _ := os.ReadFile(filepath.Join(r.dir, "src/other")); string(got) != c.other {
				t.Errorf("the other file is %q", got)
			}
			if c.other == "" {
				if _, err := os.Stat(filepath.Join(r.dir, "src")); err == nil {
					t.Error("its folder is there")
				}
			}
		})
	}
}

// In plan mode nothing writes, and what did not can be seen.
func TestPlanModeLetsCommandsRunThatChangeNothing(t *testing.T) {
	for text, want := range map[string]sched.Status{"cat notes\n": sched.Succeeded, "echo 2 >> notes\n": sched.Denied} {
		r := previewRig(t, "./gen.sh")
		r.script(text)
		user := &previewAnswer{allow: true}
		talk := r.talk(harness.Options{Mode: "plan", Reexec: shellrun.Supervise()}, harness.TalkOptions{Person: user, Interactive: true})
		events, _ := r.say(talk, "look")
		out := bashOutcome(t, events)
		if out.Status != want || len(user.asked) != 0 || r.content("notes") != "1\n" {
			t.Errorf("%q: asked %d times, %v %s; the file is %q", text, len(user.asked), out.Status, out.Result.Text(), r.content("notes"))
		}
		if err := talk.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A program that answers questions decides about calls as they are, unless it wants
// previews.
func TestAProgramIsAskedAboutTheCommand(t *testing.T) {
	r := previewRig(t, "./gen.sh")
	r.script("echo 2 >> notes\n")
	talk := r.talk(harness.Options{Reexec: shellrun.Supervise()}, harness.TalkOptions{ByProgram: true})
	events, _ := r.say(talk, "generate")
	if out := bashOutcome(t, events); out.Status != sched.Denied || !out.Verdict.Unasked { // one that answers nothing
		t.Errorf("%v %s", out.Status, out.Result.Text())
	}
	if err := talk.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for mode, ran := range map[project.PreviewMode]bool{"": false, "ask": true} {
		r := previewRig(t, "./gen.sh")
		r.script("echo 2 >> notes\n")
		program := &previewAnswer{}
		talk := r.talk(harness.Options{Preview: mode, Reexec: shellrun.Supervise()}, harness.TalkOptions{Person: program, ByProgram: true})
		r.say(talk, "generate")
		if len(program.asked) != 1 || program.asked[0].Ran() != ran || r.content("notes") != "1\n" {
			t.Errorf("%q: asked %+v", mode, program.asked)
		}
		if err := talk.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A command that works in the home folder needs more than a preview gives, wherever haft
// keeps its own files: the user is asked, or the model is told that it did not run.
func TestACommandThatWritesInTheHomeFolderIsAskedAbout(t *testing.T) {
	for _, byUser := range []bool{true, false} {
		r := previewRig(t, "./gen.sh")
		r.script("echo z > ~/n\n")
		user := &previewAnswer{allow: true}
		talk := harness.TalkOptions{}
		if byUser {
			talk = harness.TalkOptions{Person: user, Interactive: true}
		}
		c := r.talk(harness.Options{Reexec: shellrun.Supervise()}, talk)
		defer c.Close(t.Context())
		events, _ := r.say(c, "work")
		n := filepath.Join(os.Getenv("HOME"), "n")
		written, _ := os.ReadFile(n)
		if !byUser {
			if out := bashOutcome(t, events); out.Status != sched.Denied || !strings.Contains(out.Result.Text(), "A preview was not enough: it changed "+n+" outside the project, which a preview drops.") || len(written) > 0 {
				t.Errorf("nobody is asked: %v %q, and the file is %q", out.Status, out.Result.Text(), written)
			}
			continue
		}
		if len(user.asked) != 1 || user.asked[0].Unclear == nil || !strings.Contains(user.asked[0].Unclear.Error(), "it changed "+n+" outside the project") {
			t.Fatalf("asked %+v", user.asked)
		}
		if string(written) != "z\n" {
			t.Errorf("approved, the file is %q", written)
		}
	}
}

// Keys of the user are not shown by a command that nobody was asked about.
func TestAPreviewedCommandSeesNoKeys(t *testing.T) {
	r := previewRig(t, "./gen.sh")
	key := filepath.Join(os.Getenv("HOME"), ".ssh", "id_rsa")
	if err := os.MkdirAll(filepath.Dir(key), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, []byte("the private key"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.script("cat ~/.ssh/id_rsa; echo end\n")
	talk := r.talk(harness.Options{Reexec: shellrun.Supervise()}, harness.TalkOptions{})
	defer talk.Close(t.Context())
	events, _ := r.say(talk, "look")
	if text := bashOutcome(t, events).Result.Text(); strings.Contains(text, "private") || !strings.Contains(text, "end") {
		t.Errorf("the model reads %q", text)
	}
}

// What rules deny reading, or want to be asked about, looks empty to a command that nobody
// was asked about because it is previewed or confined to the project, whichever program
// reads it.
func TestACommandThatIsNotAskedAboutSeesNothingThatRulesHide(t *testing.T) {
	for name, c := range map[string]struct {
		rules []string
		ask   bool
		files []string
		read  string
	}{
		"a folder":                {rules: []string{"Read(./secrets/**)"}, files: []string{"secrets/deep/x"}, read: "cat secrets/deep/x; cd secrets/deep && cat x"},
		"a folder, in other case": {rules: []string{"Read(/Secrets/**)"}, files: []string{"secrets/x"}, read: "cat secrets/x"},
		"a pattern":               {rules: []string{"Read(**/*.key)"}, files: []string{"a.key", "src/deep/b.key"}, read: "cat *.key src/deep/*"},
		"a name":                  {rules: []string{"Read(./.env)"}, files: []string{".env", "src/.env"}, read: "cat .env src/.env"},
		"a rule that asks":        {rules: []string{"Read(./secrets/**)"}, ask: true, files: []string{"secrets/x"}, read: "cat secrets/x"},
		"in a copy":               {rules: []string{"Read(./secrets/**)"}, files: []string{"secrets/x", "src/a"}, read: "mv src there; mv there src; cat secrets/x; grep -rh SECRET $HOME 2> /dev/null"},
		"by a link":               {rules: []string{"Read(./link/**)"}, files: []string{"real/x"}, read: "ln -s x real/y; rm real/y; cat link/x real/x"},
		"moved away":              {rules: []string{"Read(./conf/secrets/**)"}, files: []string{"conf/secrets/x"}, read: "mv conf new 2> /dev/null; cat conf/secrets/x new/secrets/x"},
	} {
		check := func(t *testing.T, confinement tool.Confinement, sandbox map[string]any) {
			r := previewRig(t, "./gen.sh")
			if name == "by a link" {
				if err := os.Symlink("real", filepath.Join(r.dir, "link")); err != nil {
					t.Fatal(err)
				}
			}
			r.script(c.read + "; echo end\n")
			for _, file := range c.files {
				r.put(file, "TOP SECRET\n")
			}
			behaviour := "deny"
			if c.ask {
				behaviour = "ask"
			}
			set, err := json.Marshal(map[string]any{"permissions": map[string]any{behaviour: c.rules}, "sandbox": sandbox})
			if err != nil {
				t.Fatal(err)
			}
			talk := r.talk(harness.Options{Settings: string(set), Reexec: shellrun.Supervise()}, harness.TalkOptions{})
			defer talk.Close(t.Context())
			events, _ := r.say(talk, "look")
			out := bashOutcome(t, events)
			if text := out.Result.Text(); strings.Contains(text, "SECRET") || !strings.Contains(text, "end") || out.Verdict.Confinement != confinement {
				t.Errorf("in %q, the model reads %q", out.Verdict.Confinement, text)
			}
		}
		t.Run(name+", previewed", func(t *testing.T) { check(t, tool.Previewed, nil) })
		t.Run(name+", confined", func(t *testing.T) { check(t, tool.ProjectOnly, map[string]any{"enabled": true}) })
	}
}

// A file that appears later is hidden from the next command.
func TestAPreviewedCommandDoesNotSeeAHiddenFileThatIsMadeLater(t *testing.T) {
	r := previewRig(t, "./gen.sh")
	r.script("cat *.key; echo end\n")
	r = r.with(script.Turn{Blocks: []script.Block{call("Bash", in("command", "./gen.sh"))}}, script.Turn{Blocks: []script.Block{{Text: "done"}}},
		script.Turn{Blocks: []script.Block{call("Bash", in("command", "./gen.sh"))}}, script.Turn{Blocks: []script.Block{{Text: "done"}}})
	talk := r.talk(harness.Options{Disallowed: []string{"Read(*.key)"}, Reexec: shellrun.Supervise()}, harness.TalkOptions{})
	defer talk.Close(t.Context())
	r.say(talk, "look")
	r.put("late.key", "TOP SECRET\n")
	events, _ := r.say(talk, "look again")
	if text := bashOutcome(t, events).Result.Text(); strings.Contains(text, "SECRET") || !strings.Contains(text, "end") {
		t.Errorf("the model reads %q", text)
	}
}

// What a rule hides is not read by a command that outlives its call: a file that is made
// later, or saved again, would be visible to it.
func TestAConfinedCommandDoesNotWaitForAHiddenFile(t *testing.T) {
	r := previewRig(t, "true")
	r.script("until cat *.key 2> /dev/null; do sleep 0.05; done > found\n")
	settings := `{"permissions":{"deny":["Read(*.key)"]},"sandbox":{"enabled":true}}`
	for name, c := range map[string]struct {
		input string
		asked int
		text  string
	}{
		"in the background":   {`{"command":"./gen.sh","run_in_background":true}`, 1, "the user"},
		"moved at its time":   {`{"command":"./gen.sh","timeout":1000}`, 0, "It was not moved to the background"},
		"left by the command": {`{"command":"./gen.sh & disown; true"}`, 0, "Stopped with the command"},
	} {
		t.Run(name, func(t *testing.T) {
			r := r.with(script.Turn{Blocks: []script.Block{call("Bash", c.input)}}, script.Turn{Blocks: []script.Block{{Text: "done"}}})
			user := &previewAnswer{}
			talk := r.talk(harness.Options{Settings: settings, Reexec: shellrun.Supervise()}, harness.TalkOptions{Person: user, Interactive: true})
			defer talk.Close(t.Context())
			events, _ := r.say(talk, "wait for it")
			if text := bashOutcome(t, events).Result.Text(); len(user.asked) != c.asked || !strings.Contains(text, c.text) {
				t.Errorf("asked %d times, the model reads %q", len(user.asked), text)
			}
		})
	}
}

// Where it cannot be known what to hide, and where git may have recorded what is hidden as
// empty, the command is asked about.
func TestWhatCannotBeHiddenIsAskedAbout(t *testing.T) {
	for name, c := range map[string]struct{ rule, script, why string }{
		"everything": {"Read(//**/x)", "cat notes\n", "the rule Read(//**/x) may cover files anywhere on this machine"},
		"git":        {"Read(./secrets/**)", "git init -q . && git add -A\n", "it changed the git repository"},
	} {
		t.Run(name, func(t *testing.T) {
			r := previewRig(t, "./gen.sh")
			r.script(c.script)
			r.put("secrets/x", "TOP SECRET\n")
			user := &previewAnswer{}
			talk := r.talk(harness.Options{Disallowed: []string{c.rule}, Reexec: shellrun.Supervise()}, harness.TalkOptions{Person: user, Interactive: true})
			defer talk.Close(t.Context())
			r.say(talk, "work")
			if len(user.asked) != 1 || user.asked[0].Unclear == nil || !strings.Contains(user.asked[0].Unclear.Error(), c.why) {
				t.Errorf("asked %+v", user.asked)
			}
		})
	}
}

// A command that fails for lack of a service is asked about, so that it can be run
// where the service is.
func TestWhatNeedsTheMachineIsAskedAboutAsACommand(t *testing.T) {
	r := previewRig(t, "./gen.sh")
	r.script("echo 'Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?' >&2; exit 1\n")
	user := &previewAnswer{}
	talk := r.talk(harness.Options{Reexec: shellrun.Supervise()}, harness.TalkOptions{Person: user, Interactive: true})
	defer talk.Close(t.Context())
	r.say(talk, "build")
	if len(user.asked) != 1 || user.asked[0].Unclear == nil || !strings.Contains(user.asked[0].Unclear.Error(), "a service or process of this machine") {
		t.Errorf("asked %+v", user.asked)
	}
}

// A policy on effects: the same hook decides about a command and about an edit.
func TestHooksJudgeTheChange(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   sched.Status
	}{
		"a command that changes the file": {"echo 2 >> notes\n", sched.Denied},
		"a command that changes another":  {"echo 2 > other\n", sched.Succeeded},
	} {
		t.Run(name, func(t *testing.T) {
			r := previewRig(t, "./gen.sh")
			r.script(c.script)
			log := filepath.Join(t.TempDir(), "log")
			config := fmt.Sprintf(`{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "preview": true,
				"command": "tee -a %s | grep -q '/notes\",\"change\"' && { echo 'notes stay' >&2; exit 2; }; true"}]}]}}`, log)
			talk := r.talk(harness.Options{Settings: config, Mode: "acceptEdits", Reexec: shellrun.Supervise()}, harness.TalkOptions{})
			defer talk.Close(t.Context())
			events, _ := r.say(talk, "generate")
			out := bashOutcome(t, events)
			raw, _ := os.ReadFile(log)
			var seen struct {
				Preview hook.Preview `json:"preview"`
			}
			if err := json.Unmarshal(raw, &seen); err != nil || !seen.Preview.Ran || len(seen.Preview.Files) != 1 || !strings.Contains(seen.Preview.Files[0].Diff, "+2") {
				t.Errorf("the hook reads %s (%v)", raw, err) // once, or it would not be one object
			}
			if out.Status != c.want || r.content("notes") != "1\n" || c.want == sched.Denied && !strings.Contains(out.Result.Text(), "notes stay") {
				t.Errorf("%v %s; the file is %q", out.Status, out.Result.Text(), r.content("notes"))
			}
		})
	}
}

// A hook that asks about a command that the rules allow sees its change, too. What it tells
// the model is not repeated.
func TestAHookThatAsksSeesTheChangeAndIsReadOnce(t *testing.T) {
	r := previewRig(t, "./gen.sh")
	r.script("echo 2 >> notes\n")
	config := `{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "preview": true,
		"command": "echo '{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"permissionDecision\": \"ask\", \"additionalContext\": \"mind the notes\"}}'"}]}]}}`
	user := &previewAnswer{}
	talk := r.talk(harness.Options{Settings: config, Allowed: []string{"Bash(./gen.sh)"}, Reexec: shellrun.Supervise()}, harness.TalkOptions{Person: user, Interactive: true})
	defer talk.Close(t.Context())
	events, _ := r.say(talk, "generate")
	out := bashOutcome(t, events)
	if len(user.asked) != 1 || !user.asked[0].Ran() || out.Status != sched.Denied || r.content("notes") != "1\n" {
		t.Errorf("asked %+v: %v, the file is %q", user.asked, out.Status, r.content("notes"))
	}
	if n := strings.Count(strings.Join(out.Notes, "\n"), "mind the notes"); n != 1 {
		t.Errorf("the model reads the hook %d times", n)
	}
}

// exampleHook is the hook of the docs that judges changes.
func exampleHook(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/hooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "### Judge a change\n")
	_, rest, _ = strings.Cut(rest, "\n```json\n")
	config, _, found := strings.Cut(rest, "\n```")
	if !found {
		t.Fatal("the example is not there")
	}
	return config
}

// Commands that run at the same time keep their previews apart.
func TestPreviewsOfParallelCommands(t *testing.T) {
	r := previewRig(t, "true")
	const n = 16
	var calls []script.Block
	for i := range n {
		calls = append(calls, call("Bash", in("command", fmt.Sprintf("cat notes; echo number %d", i))))
	}
	r = r.with(script.Turn{Blocks: calls}, script.Turn{Blocks: []script.Block{{Text: "done"}}})
	config := `{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "preview": true,
		"command": "grep -q '\"ran\":true' || echo '{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"permissionDecision\": \"ask\"}}'"}]}]}}`
	talk := r.talk(harness.Options{Settings: config, Reexec: shellrun.Supervise()}, harness.TalkOptions{})
	events, _ := r.say(talk, "look")
	if err := talk.Close(t.Context()); err != nil {
		t.Error(err)
	}
	i := 0
	for _, ev := range events {
		r, ok := ev.(agent.Returned)
		if !ok {
			continue
		}
		ran, _ := r.Outcome.Result.Output.(bash.Output)
		if out := r.Outcome; out.Status != sched.Succeeded || ran.Confinement != tool.Previewed || !strings.Contains(out.Result.Text(), "number ") {
			t.Errorf("%v, confined to %q: %s", out.Status, ran.Confinement, out.Result.Text())
		}
		i++
	}
	if i != n {
		t.Errorf("%d of %d results", i, n)
	}
	left, err := filepath.Glob(filepath.Join(workspace.StateDir(), "previews", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// The example of the docs holds where the mode or a rule allows a command: it asks, and
// then sees the change.
func TestTheExampleOfAHookJudgesAllowedCommands(t *testing.T) {
	t.Setenv("IS_SANDBOX", "1")
	config := exampleHook(t)
	for _, c := range []struct {
		mode, command string
		want          sched.Status
	}{
		{"acceptEdits", "echo b > migrations/1.sql", sched.Denied},
		{"acceptEdits", "echo b > migrations/2.sql", sched.Succeeded},
		{"acceptEdits", "cat migrations/1.sql", sched.Succeeded},
		{"bypassPermissions", "echo b > migrations/1.sql", sched.Denied},
		{"bypassPermissions", "echo b > migrations/2.sql", sched.Succeeded},
	} {
		r := previewRig(t, c.command)
		r.put("migrations/1.sql", "a\n")
		time.Sleep(12 * time.Millisecond) // until the clock of file systems has ticked
		talk := r.talk(harness.Options{Settings: config, Mode: c.mode, Reexec: shellrun.Supervise()}, harness.TalkOptions{})
		events, _ := r.say(talk, "work")
		out := bashOutcome(t, events)
		if out.Status != c.want || r.content("migrations/1.sql") != "a\n" || c.want == sched.Denied && !strings.Contains(out.Result.Text(), "added and never changed") {
			t.Errorf("%s in %s: %v %s", c.command, c.mode, out.Status, out.Result.Text())
		}
		if added := r.content("migrations/2.sql") == "b\n"; added != strings.Contains(c.command, "2.sql") {
			t.Errorf("%s in %s: the second file is %q", c.command, c.mode, r.content("migrations/2.sql"))
		}
		if err := talk.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestAPreviewedSearchShowsNoSecret: Read would ask about the file. A command that finds it in a
// folder is not asked about, and gets an empty one; a program that opens the file gets it.
func TestAPreviewedSearchShowsNoSecret(t *testing.T) {
	for command, shows := range map[string]bool{
		"grep -rn TOKEN . sub": false,
		"diff -N . sub":        false,
		"find . -name '.e*' -type f | xargs grep -h TOKEN": false,
		"bash -c 'grep -r TOKEN .'":                        false,
		"./gen.sh":                                         true,
	} {
		r := previewRig(t, command)
		r.put(".env", "TOKEN=hidden\n")
		r.put("sub/b", "TOKEN=shown\n")
		if err := os.Chmod(r.put("gen.sh", "#!/bin/sh\ncat .env sub/b\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		user := &previewAnswer{}
		c := r.talk(harness.Options{Reexec: shellrun.Supervise()}, harness.TalkOptions{Person: user, Interactive: true})
		events, _ := r.say(c, "search")
		out := bashOutcome(t, events)
		if text := out.Result.Text(); len(user.asked) > 0 || strings.Contains(text, "TOKEN=hidden") != shows {
			t.Errorf("%s: asked %d times, %v: %s", command, len(user.asked), out.Status, text)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

package harness_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/needtest"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sandbox"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/shellrun"
	"github.com/haftdev/haft/tool"
)

// previewRig is a project where commands that are asked about are previewed. The
// model runs one command.
func previewRig(t *testing.T, command string) *rig {
	t.Helper()
	host := shellrun.NewHost(&shellrun.Options{Reexec: shellrun.Supervise(), NoProfile: true})
	defer host.Close()
	if tier := host.Tier(sandbox.Offline); tier.Kind != sandbox.TierBox {
		needtest.Missing(t, "no box here: %s", tier)
	}
	r := newRig(t,
		script.Turn{Blocks: []script.Block{call("Bash", in("command", command))}},
		script.Turn{Blocks: []script.Block{{Text: "done"}}},
	)
	t.Setenv("XDG_STATE_HOME", filepath.Join(os.Getenv("HOME"), ".state"))
	if err := os.MkdirAll(os.Getenv("CLAUDE_CONFIG_DIR"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(os.Getenv("CLAUDE_CONFIG_DIR"), "settings.json"), []byte(`{"bash": {"preview": true}}`), 0o644); err != nil {
		t.Fatal(err)
	}
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
	if len(user.asked) != 1 || user.asked[0].Unclear == nil || !strings.Contains(user.asked[0].Unclear.Error(), "it wanted to reach host.invalid:80") {
		t.Errorf("asked %+v", user.asked)
	}
	if got, _ := os.ReadFile(filepath.Join(r.dir, "notes")); string(got) != "1\n2\n" {
		t.Errorf("the file is %q", got)
	}
}

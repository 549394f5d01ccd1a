package harness_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/test/devwork"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
)

// TestDeveloperWorkInTheSandbox runs what developers run, plainly and confined: each
// command has the same exit code, output and effect on the project in `project`, and
// those that only read in `read-only`. As root it runs again as an ordinary user, with
// one command in seven without HAFT_NIGHTLY. Where neither that nor HAFT_THOROUGH
// is set, one in four runs.
func TestDeveloperWorkInTheSandbox(t *testing.T) {
	needtest.Need(t, needtest.Namespaces)
	if os.Geteuid() == 0 {
		defer asNobody(t, "")
	}
	p := devwork.New(t)
	plain := openWorld(t, p, "{}")
	project := openWorld(t, p, `{"sandbox": {"enabled": true}}`)
	before, clean := p.Tree(t), true
	for _, c := range workFor(t) {
		t.Run(c.Line, func(t *testing.T) {
			c.Need(t)
			if !clean {
				p.Reset(t)
			}
			clean = false
			want := work(t, p, plain, c, tool.Unconfined)
			if want.code != c.Code {
				t.Fatalf("it ends with %d without a sandbox, not with %d:\n%s", want.code, c.Code, want.output)
			}
			if diff := cmp.Diff(before, want.tree); c.Reads && diff != "" {
				t.Fatalf("it is said to only read: %s", diff)
			}
			if !c.Reads {
				p.Reset(t)
			}
			if diff := cmp.Diff(want, work(t, p, project, c, tool.ProjectOnly), cmp.AllowUnexported(worked{})); diff != "" {
				t.Errorf("in the project only: %s", diff)
			}
			if !c.Reads {
				return
			}
			if diff := cmp.Diff(want, work(t, p, plain, c, tool.ReadOnly), cmp.AllowUnexported(worked{})); diff != "" {
				t.Errorf("read-only: %s", diff)
			}
			clean = !t.Failed()
		})
	}
}

// workFor is all work, or a sample of it. That for root's ordinary user is without that of
// Go, which has to compile its library first for a new user.
func workFor(t *testing.T) []devwork.Command {
	t.Helper()
	all, again := devwork.Commands(), os.Getenv(nobodyEnv) != ""
	if needtest.Nightly() || needtest.Thorough() && !again {
		return all
	}
	every := 12
	if again {
		every = 7 * needtest.Every(3)
	}
	var some []devwork.Command
	for i, c := range all {
		if i%every == 0 && !(again && slices.Contains(c.Needs, "go")) {
			some = append(some, c)
		}
	}
	return some
}

// worked is what a command has done.
type worked struct {
	code   int
	output string
	tree   map[string]string
}

func work(t *testing.T, p *devwork.Project, w *harness.World, c devwork.Command, to tool.Confinement) worked {
	t.Helper()
	input, err := json.Marshal(map[string]any{"command": "cd " + p.Dir + "; " + c.Line})
	if err != nil {
		t.Fatal(err)
	}
	result, err := w.Shell.List()[0].Run(t.Context(), (&tool.Call{Tool: "Bash", Confinement: to, Session: &tool.Session{}}).WithInput(input))
	if err != nil {
		t.Fatal(err)
	}
	out := result.Output.(bash.Output)
	if to != tool.Unconfined && out.Sandbox != sandbox.TierBox.String() {
		t.Fatalf("not in a box: %+v", out)
	}
	return worked{out.ExitCode, devwork.Clean(out.Stdout), p.Tree(t)}
}

// openWorld opens the project with settings of the user.
func openWorld(t *testing.T, p *devwork.Project, settings string) *harness.World {
	t.Helper()
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(p.Home, ".claude"))
	userSettings(t, settings)
	w, err := harness.Open(&harness.Options{Dir: p.Dir, Reexec: shellrun.Supervise()})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Sandbox().Enabled; got != strings.Contains(settings, "enabled") {
		t.Fatalf("that the sandbox is enabled is %t", got)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

package changetest

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// A Project is a folder with the tools that change files in it.
type Project struct {
	Dir   string
	Tools *tool.Set
}

// NewProject makes an empty project, which ends with the test.
func NewProject(t *testing.T) *Project {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.Open(dir, &workspace.Options{Home: filepath.Join(dir, "home"), State: filepath.Join(t.TempDir(), "state")})
	if err != nil {
		t.Fatal(err)
	}
	host := shellrun.NewHost(&shellrun.Options{NoProfile: true})
	t.Cleanup(func() { host.Close(); ws.Close() })
	world := builtin.World{Files: ws, Shell: bash.New(host, &bash.Options{Dir: dir, Edit: builtin.SedEdits(ws)})}
	set := tool.NewSet(&tool.Session{}, world.Tools(), nil, nil)
	return &Project{dir, set.Reveal("NotebookEdit")}
}

// New makes a random file and a call on it, which the model knows as far as it must.
func (p *Project) New(t *testing.T, r *rand.Rand) Case {
	t.Helper()
	c, err := makeCase(r, p.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if !c.Exists || c.Tool == "Bash" {
		return c
	}
	in, err := json.Marshal(map[string]string{"file_path": c.Path})
	if err != nil {
		t.Fatal(err)
	}
	allow := sched.JudgeFunc(func(context.Context, tool.Case) tool.Verdict { return tool.Verdict{Behavior: tool.Allow} })
	if out := sched.New(&sched.Options{Judge: allow}).Call(t.Context(), p.Tools, "read", "Read", in); out.IsError() {
		t.Fatalf("read %s: %s", c.Path, out.Result.Text())
	}
	return c
}

// Call makes the call, which asker is asked about.
func (p *Project) Call(t *testing.T, c Case, asker sched.Asker) *sched.Outcome {
	t.Helper()
	return sched.New(&sched.Options{Askers: []sched.Asker{asker}}).Call(t.Context(), p.Tools, "use", c.Tool, c.Input)
}

// A Seen call is what an asker was shown, and what became of the file then.
type Seen struct {
	Case
	Shown tool.Case
	After []byte
}

// Approved makes n calls that are approved, and returns those that changed their
// file.
func (p *Project) Approved(t *testing.T, r *rand.Rand, n int) []Seen {
	t.Helper()
	var all []Seen
	for range n {
		s := Seen{Case: p.New(t, r)}
		out := p.Call(t, s.Case, sched.AskerFunc(func(_ context.Context, c tool.Case, _ tool.Verdict) (tool.Verdict, error) {
			s.Shown = c
			return tool.Verdict{Behavior: tool.Allow}, nil
		}))
		s.After, _ = os.ReadFile(s.Path)
		if out.Status == sched.Succeeded && string(s.After) != string(s.Before) {
			all = append(all, s)
		}
		os.Remove(s.Path)
	}
	if len(all) < n/2 {
		t.Fatalf("only %d of %d calls changed something: the test sees too little", len(all), n)
	}
	return all
}

// Made is the change as it happened, as a tool would have shown it. Modes are left out.
func (s Seen) Made(t *testing.T) tool.FileChange {
	t.Helper()
	was, is, err := Texts(s.Before, s.After)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	f := tool.FileChange{Path: s.Path, After: tool.NewVersion(0, s.After, is)}
	if s.Exists {
		f.Before = tool.NewVersion(0, s.Before, was)
	}
	return f
}

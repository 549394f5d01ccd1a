package builtin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/haftdev/haft/internal/changetest"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/shellrun"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/bash"
	"github.com/haftdev/haft/tool/builtin"
	"github.com/haftdev/haft/workspace"
)

// A bench is a project with the tools that change files.
type bench struct {
	dir   string
	tools *tool.Set
}

func newBench(t *testing.T) *bench {
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
	return &bench{dir, set.Reveal("NotebookEdit")}
}

// read lets the model know a file, without which it may not change it.
func (b *bench) read(t *testing.T, path string) {
	t.Helper()
	in, err := json.Marshal(map[string]string{"file_path": path})
	if err != nil {
		t.Fatal(err)
	}
	allow := sched.JudgeFunc(func(context.Context, tool.Case) tool.Verdict { return tool.Verdict{Behavior: tool.Allow} })
	if out := sched.New(&sched.Options{Judge: allow}).Call(t.Context(), b.tools, "read", "Read", in); out.IsError() {
		t.Fatalf("read %s: %s", path, out.Result.Text())
	}
}

// snapshot is every file of the project with its mode.
func (b *bench) snapshot(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := os.ReadFile(filepath.Join(b.dir, e.Name()))
		files[filepath.Join(b.dir, e.Name())] = info.Mode().String() + string(raw)
	}
	return files
}

// TestWhatIsShownIsWhatHappens makes random calls on random files and holds the files
// afterwards against what was shown before, which must have changed nothing.
func TestWhatIsShownIsWhatHappens(t *testing.T) {
	b := newBench(t)
	r := rand.New(rand.NewPCG(15, 1))
	done := map[string]int{}
	const rounds = 700
	for range rounds {
		c, err := changetest.New(r, b.dir)
		if err != nil {
			t.Fatal(err)
		}
		if c.Exists && c.Tool != "Bash" {
			b.read(t, c.Path)
		}
		before := b.snapshot(t)
		var shown *tool.Preview
		ask := sched.AskerFunc(func(_ context.Context, seen tool.Case, _ tool.Verdict) (tool.Verdict, error) {
			if shown = seen.Preview; !maps.Equal(before, b.snapshot(t)) {
				t.Errorf("%s: files were changed before it was approved", c)
			}
			if paths := seen.Tool.PathsOf(seen.Call).Writes; !slices.Equal(paths, []string{c.Path}) {
				t.Errorf("%s: it says that it writes %q", c, paths)
			}
			return tool.Verdict{Behavior: tool.Allow}, seen.Unclear
		})
		out := sched.New(&sched.Options{Askers: []sched.Asker{ask}}).Call(t.Context(), b.tools, "use", c.Tool, c.Input)
		after := b.snapshot(t)
		if out.Status == sched.Succeeded {
			done[c.Kind]++
			done[c.Tool]++
			made(t, c, shown, before, after)
		} else if !maps.Equal(before, after) {
			t.Errorf("%s: refused, and files were changed: %s", c, out.Result.Text())
		}
		os.Remove(c.Path)
	}
	for _, kind := range []string{"Edit", "MultiEdit", "Write", "NotebookEdit", "Bash", "UTF-16LE with BOM, CRLF", "UTF-16BE with BOM, mixed", "UTF-8 with BOM, LF", "windows-1252, CRLF", "ISO-8859-1, mixed", "UTF-8, mixed", "a notebook", "a new file"} {
		if done[kind] < rounds/200 {
			t.Errorf("only %d calls of %q were made: the test sees too little of it", done[kind], kind)
		}
	}
	t.Log(done)
}

// made compares what was shown with what became of the files.
func made(t *testing.T, c changetest.Case, shown *tool.Preview, before, after map[string]string) {
	t.Helper()
	want := maps.Clone(before)
	if shown == nil {
		t.Errorf("%s: nothing was shown", c)
		return
	}
	for _, f := range shown.Files {
		mode := f.After.Mode.String()
		if f.Before == nil {
			mode = after[f.Path][:len("-rw-r--r--")] // the system's
		} else if !bytes.Equal(f.Before.Raw, c.Before) {
			t.Errorf("%s: shown as having been %q", c, f.Before.Raw)
		}
		want[f.Path] = mode + string(f.After.Raw)
	}
	if !maps.Equal(want, after) {
		t.Errorf("%s: shown %q, made %q", c, want[c.Path], after[c.Path])
	}
}

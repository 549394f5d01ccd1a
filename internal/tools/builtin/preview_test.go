package builtin_test

import (
	"bytes"
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/haftdev/haft/internal/test/changetest"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// snapshot is every file of a folder with its mode.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		files[filepath.Join(dir, e.Name())] = info.Mode().String() + string(raw)
	}
	return files
}

// TestWhatIsShownIsWhatHappens makes random calls on random files and holds the files
// afterwards against what was shown before, which must have changed nothing.
func TestWhatIsShownIsWhatHappens(t *testing.T) {
	b := changetest.NewProject(t)
	r := rand.New(rand.NewPCG(15, 1))
	done := map[string]int{}
	const rounds = 700
	for range rounds {
		c := b.New(t, r)
		before := snapshot(t, b.Dir)
		var shown *tool.Preview
		ask := sched.AskerFunc(func(_ context.Context, seen tool.Case, _ tool.Verdict) (tool.Verdict, error) {
			if shown = seen.Preview; !maps.Equal(before, snapshot(t, b.Dir)) {
				t.Errorf("%s: files were changed before it was approved", c)
			}
			if paths := seen.Tool.PathsOf(seen.Call).Writes; !slices.Equal(paths, []string{c.Path}) {
				t.Errorf("%s: it says that it writes %q", c, paths)
			}
			return tool.Verdict{Behavior: tool.Allow}, seen.Unclear
		})
		out := b.Call(t, c, ask)
		after := snapshot(t, b.Dir)
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

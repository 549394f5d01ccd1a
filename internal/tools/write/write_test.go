//go:build unix

package write

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/internal/tools/read"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
)

type bench struct {
	t           *testing.T
	dir         string
	write, read tool.Tool
}

func newBench(t *testing.T, files map[string]string) *bench {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	b := &bench{t: t, dir: filepath.Join(base, "p")}
	must(t, os.Mkdir(b.dir, 0o755))
	for name, content := range files {
		b.put(name, content)
	}
	ws, err := workspace.Open(b.dir, &workspace.Options{Home: base, State: filepath.Join(base, "state")})
	must(t, err)
	t.Cleanup(func() { must(t, ws.Close()) })
	b.write, b.read = New(ws), read.New(ws, nil)
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) put(name, content string) {
	must(b.t, os.WriteFile(b.path(name), []byte(content), 0o644))
}

func (b *bench) content(name string) string {
	b.t.Helper()
	raw, err := os.ReadFile(b.path(name))
	must(b.t, err)
	return string(raw)
}

func (b *bench) run(t tool.Tool, in any) (tool.Result, error) {
	b.t.Helper()
	raw, err := json.Marshal(in)
	must(b.t, err)
	c := &tool.Call{UseID: "u", Tool: t.Name, Input: raw}
	if p := t.Validate(context.Background(), c); p != nil {
		return tool.Result{}, errors.New(p.Message)
	}
	return t.Run(context.Background(), c)
}

func (b *bench) show(name string) {
	b.t.Helper()
	_, err := b.run(b.read, read.Input{FilePath: b.path(name)})
	must(b.t, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestConformance(t *testing.T) {
	b := newBench(t, map[string]string{"old": "x\n"})
	b.show("old")
	reset := func(t *testing.T) {
		must(t, os.RemoveAll(b.path("new")))
		b.put("old", "x\n")
		b.show("old")
	}
	tooltest.Run(t, tooltest.Subject{Tool: b.write, Reset: reset, Valid: []string{
		fmt.Sprintf(`{"file_path":%q,"content":"a\n"}`, b.path("new/file")),
		fmt.Sprintf(`{"file_path":%q,"content":"y\n"}`, b.path("old")),
	}})
}

func TestANewFile(t *testing.T) {
	b := newBench(t, nil)
	r, err := b.run(b.write, callInput{FilePath: b.path("a/b/c"), Content: "x\n"})
	must(t, err)
	want := callOutput{Type: "create", FilePath: b.path("a/b/c"), Content: "x\n", StructuredPatch: []patch.Hunk{}, ForeignPatch: []patch.Hunk{}}
	if d := cmp.Diff(want, r.Output); d != "" || b.content("a/b/c") != "x\n" {
		t.Error(d)
	}
}

func TestAnExistingFileKeepsItsForm(t *testing.T) {
	b := newBench(t, map[string]string{"f": "\ufeffone\r\ntwo\r\n"})
	b.show("f")
	r, err := b.run(b.write, callInput{FilePath: b.path("f"), Content: "one\nthree\n"})
	must(t, err)
	if got := b.content("f"); got != "\ufeffone\r\nthree\r\n" {
		t.Errorf("content %q", got)
	}
	if out := r.Output.(callOutput); out.Type != "update" || *out.OriginalFile != "one\r\ntwo\r\n" || len(out.StructuredPatch) != 1 {
		t.Errorf("output %+v", out)
	}
}

func TestTexts(t *testing.T) {
	var out strings.Builder
	do := func(name string, content, write string, change func(*bench, *callInput)) {
		b := newBench(t, map[string]string{"f": content})
		b.show("f")
		in := callInput{FilePath: b.path("f"), Content: write}
		if change != nil {
			change(b, &in)
		}
		r, err := b.run(b.write, in)
		text := r.Text()
		if err != nil {
			text = "ERROR " + err.Error()
		}
		fmt.Fprintf(&out, "== %s\n%s\n\n", name, strings.ReplaceAll(text, b.dir, "/project"))
	}
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	do("update", "a\nb\n", "a\nc\n", nil)
	do("the same content", "a\n", "a\n", nil)
	do("merged", ten, "one\n"+ten[2:], func(b *bench, _ *callInput) { b.put("f", strings.Replace(ten, "10", "ten", 1)) })
	do("conflict", ten, "other\n", func(b *bench, _ *callInput) { b.put("f", strings.Replace(ten, "5", "V", 1)) })
	do("conflict, overwrite", ten, "other\n", func(b *bench, in *callInput) {
		b.put("f", strings.Replace(ten, "5", "V", 1))
		if _, err := b.run(b.write, *in); err == nil {
			t.Error("the conflict is not reported")
		}
		in.OnConflict = "overwrite"
	})
	do("unread", "", "x", func(b *bench, in *callInput) { b.put("g", "a"); in.FilePath = b.path("g") })
	do("unread but empty", "", "x", func(b *bench, in *callInput) { b.put("g", ""); in.FilePath = b.path("g") })
	do("directory", "", "x", func(b *bench, in *callInput) { in.FilePath = b.dir })
	do("relative", "", "x", func(b *bench, in *callInput) { in.FilePath = "notes.md" })
	do("below a file", "", "x", func(b *bench, in *callInput) { in.FilePath = b.path("f/x") })
	do("binary", "a", "x", func(b *bench, in *callInput) { b.put("f", "\x7fELF") })
	do("deleted since it was read", "a", "b", func(b *bench, _ *callInput) { must(t, os.Remove(b.path("f"))) })
	do("stray bytes", "caf\xe9 éééé\nb\n", "un caf\ufffd éééé\nb\n", nil)
	golden.Check(t, "testdata/texts.golden", out.String())
}

//go:build unix

package edit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/tools/edit"
	"github.com/haftdev/haft/internal/tools/read"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
)

type bench struct {
	t                 testing.TB
	dir               string
	ws                *workspace.Workspace
	edit, multi, read tool.Tool
}

func newBench(t testing.TB, files map[string]string) *bench {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	b := &bench{t: t, dir: filepath.Join(base, "p")}
	must(t, os.Mkdir(b.dir, 0o755))
	for name, content := range files {
		b.write(name, content)
	}
	b.ws, err = workspace.Open(b.dir, &workspace.Options{Home: base, State: filepath.Join(base, "state")})
	must(t, err)
	t.Cleanup(func() { must(t, b.ws.Close()) })
	b.edit, b.multi, b.read = edit.New(b.ws), edit.NewMulti(b.ws), read.New(b.ws, nil)
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) write(name, content string) {
	b.t.Helper()
	must(b.t, os.MkdirAll(filepath.Dir(b.path(name)), 0o755))
	must(b.t, os.WriteFile(b.path(name), []byte(content), 0o644))
}

func (b *bench) content(name string) string {
	b.t.Helper()
	raw, err := os.ReadFile(b.path(name))
	must(b.t, err)
	return string(raw)
}

func (b *bench) show(name string) {
	b.t.Helper()
	_, err := b.run(b.read, read.Input{FilePath: b.path(name)})
	must(b.t, err)
}

// run calls a tool as the pipeline does: meaning, then work.
func (b *bench) run(t tool.Tool, in any) (tool.Result, error) {
	b.t.Helper()
	raw, err := json.Marshal(in)
	must(b.t, err)
	c := &tool.Call{UseID: "u", Tool: t.Name, Input: raw}
	if p := t.Validate(context.Background(), c); p != nil {
		return tool.Result{}, errors.New(p.Message)
	}
	r, err := t.Run(context.Background(), c)
	var forModel *tool.Error
	if err != nil && !errors.As(err, &forModel) {
		b.t.Errorf("%s ends the turn with %v", t.Name, err)
	}
	return r, err
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestConformance(t *testing.T) {
	b := newBench(t, nil)
	reset := func(t *testing.T) {
		b.write("f", "one\ntwo\ntwo\n")
		b.show("f")
	}
	reset(t)
	tooltest.Run(t, tooltest.Subject{Tool: b.edit, Reset: reset, Valid: []string{fmt.Sprintf(`{"file_path":%q,"old_string":"one","new_string":"1"}`, b.path("f"))}})
	tooltest.Run(t, tooltest.Subject{Tool: b.multi, Reset: reset, Valid: []string{
		fmt.Sprintf(`{"file_path":%q,"edits":[{"old_string":"one","new_string":"1"},{"old_string":"two","new_string":"2","replace_all":true}]}`, b.path("f"))}})
}

func TestEdit(t *testing.T) {
	b := newBench(t, map[string]string{"f": "one\ntwo\nthree\n"})
	b.show("f")
	r, err := b.run(b.edit, edit.Input{FilePath: b.path("f"), OldString: "two", NewString: "2"})
	must(t, err)
	want := edit.Output{FilePath: b.path("f"), OldString: "two", NewString: "2", OriginalFile: "one\ntwo\nthree\n", Replacements: 1,
		StructuredPatch: []patch.Hunk{{OldStart: 1, OldLines: 3, NewStart: 1, NewLines: 3, Lines: []string{" one", "-two", "+2", " three"}}}, ForeignPatch: []patch.Hunk{}}
	if d := cmp.Diff(want, r.Output); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff("P has been updated.\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three", strings.ReplaceAll(r.Text(), b.path("f"), "P")); d != "" {
		t.Error(d)
	}
	if got := b.content("f"); got != "one\n2\nthree\n" {
		t.Errorf("content %q", got)
	}
	if s := b.edit.SummarizeResult(r); s != "+1 -1 lines" {
		t.Errorf("summary %q", s)
	}
}

func TestAnEmptyOldStringMakesANewFile(t *testing.T) {
	b := newBench(t, nil)
	r, err := b.run(b.edit, edit.Input{FilePath: b.path("a/new"), NewString: "x\n"})
	must(t, err)
	if b.content("a/new") != "x\n" || !strings.HasPrefix(r.Text(), "File created: ") {
		t.Errorf("content %q, %s", b.content("a/new"), r.Text())
	}
}

// TestTexts pins what the model reads, for successes that say more than "updated" and for every refusal.
func TestTexts(t *testing.T) {
	var out strings.Builder
	say := func(b *bench, name string, r tool.Result, err error) {
		text := r.Text()
		if err != nil {
			text = "ERROR " + err.Error()
		}
		fmt.Fprintf(&out, "== %s\n%s\n\n", name, strings.ReplaceAll(text, b.dir, "/project"))
	}
	do := func(name, content, old, new string, change func(*bench, *edit.Input)) {
		b := newBench(t, map[string]string{"f": content})
		b.show("f")
		in := edit.Input{FilePath: b.path("f"), OldString: old, NewString: new}
		if change != nil {
			change(b, &in)
		}
		before, _ := os.ReadFile(in.FilePath)
		r, err := b.run(b.edit, in)
		if after, _ := os.ReadFile(in.FilePath); err != nil && !bytes.Equal(before, after) {
			t.Errorf("%s: refused, but the file changed", name)
		}
		say(b, name, r, err)
	}
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	do("replace all", "a b a\n", "a", "c", func(_ *bench, in *edit.Input) { in.ReplaceAll = true })
	do("other line endings", "a\r\nb\r\n", "a\nb", "a\nc", nil)
	do("other indentation", "if x {\n\t\ty()\n}\n", "        y()\n", "\t\tz()\n", nil)
	do("merged", ten, "1\n2", "one\n2", func(b *bench, _ *edit.Input) { b.write("f", strings.Replace(ten, "10", "ten", 1)) })
	do("conflict", ten, "5", "five", func(b *bench, _ *edit.Input) { b.write("f", strings.Replace(ten, "5", "V", 1)) })
	do("conflict, overwrite", ten, "5", "five", func(b *bench, in *edit.Input) {
		b.write("f", strings.Replace(ten, "5", "V", 1))
		if _, err := b.run(b.edit, *in); err == nil {
			t.Error("the conflict is not reported")
		}
		in.OnConflict = "overwrite"
	})
	do("overwrite what nobody has seen", ten, "5", "five", func(b *bench, in *edit.Input) {
		b.write("f", strings.Replace(ten, "5", "V", 1))
		in.OnConflict = "overwrite"
	})
	do("conflict, markers", ten, "5", "five", func(b *bench, in *edit.Input) {
		b.write("f", strings.Replace(ten, "5", "V", 1))
		in.OnConflict = "markers"
	})
	do("changed so that it fits nowhere", ten, "nowhere", "x", func(b *bench, _ *edit.Input) { b.write("f", "all new\n") })
	do("not found", "func f() {\n\treturn 1\n}\n", "func f() {\n    return 2\n}", "x", nil)
	do("line numbers", "alpha\nbeta\n", "1\talpha\n2\tbeta", "x", nil)
	do("twice", "a\na\n", "a", "b", nil)
	do("wrong count", "a\na\n", "a", "b", func(_ *bench, in *edit.Input) { in.Expected = 3 })
	do("no change", "a\n", "a", "a", nil)
	do("empty old string", "a\n", "", "b", nil)
	do("empty file", "", "a", "b", nil)
	do("unread empty file", "a\n", "a", "b", func(b *bench, in *edit.Input) { b.write("other", ""); in.FilePath = b.path("other") })
	do("through a link", "a\n", "a", "b", func(b *bench, in *edit.Input) {
		must(t, os.Symlink(in.FilePath, b.path("link")))
		in.FilePath = b.path("link")
	})
	do("relative path", "a\n", "a", "b", func(_ *bench, in *edit.Input) { in.FilePath = "f" })
	do("missing", "a\n", "a", "b", func(b *bench, in *edit.Input) { in.FilePath = b.path("g.txt") })
	do("directory", "a\n", "a", "b", func(b *bench, in *edit.Input) { in.FilePath = b.dir })
	do("unread", "a\n", "a", "b", func(b *bench, in *edit.Input) { b.write("other", "a"); in.FilePath = b.path("other") })
	do("deleted since", "a\n", "a", "b", func(b *bench, in *edit.Input) { must(t, os.Remove(in.FilePath)) })
	do("binary by now", "a\n", "a", "b", func(b *bench, in *edit.Input) { b.write("f", "\x89PNG\r\n\x1a\n\x00") })
	latin1, _ := textfile.ByName("ISO-8859-1")
	raw, err := latin1.Encode("Voilà l'été, déjà prêt à côtoyer les élèves. Fin.\n")
	must(t, err)
	do("characters the encoding cannot hold", string(raw), "Fin", "€", nil)

	b := newBench(t, map[string]string{"f": "alpha beta gamma\n"})
	b.show("f")
	for _, list := range [][]edit.OneEdit{
		{{OldString: "alpha beta", NewString: "1"}, {OldString: "beta gamma", NewString: "2"}},
		{{OldString: "alpha", NewString: "1"}, {OldString: "alpha", NewString: "2"}},
		{{OldString: "fresh", NewString: "1"}, {OldString: "alpha", NewString: "fresh"}},
		{{OldString: "alpha", NewString: "1"}, {OldString: "omega", NewString: "2"}},
		{{OldString: "alpha", NewString: "1"}, {OldString: "gamma", NewString: "3"}},
	} {
		r, err := b.run(b.multi, edit.MultiInput{FilePath: b.path("f"), Edits: list})
		if err != nil && b.content("f") != "alpha beta gamma\n" {
			t.Errorf("refused, but the file holds %q", b.content("f"))
		}
		say(b, "MultiEdit "+list[0].OldString+", "+list[1].OldString, r, err)
	}
	golden.Check(t, "testdata/texts.golden", out.String())
}

func TestPermissionViews(t *testing.T) {
	b := newBench(t, map[string]string{"f": "x", ".env": "x", ".git/config": "x"})
	for path, want := range map[string]tool.Behavior{
		b.path("f"): tool.NoView, b.path(".env"): tool.Ask, b.path(".git/config"): tool.Ask, "/etc/hosts": tool.Ask,
		"/dev/zero": tool.Deny, b.dir: tool.Deny, "/proc/self/environ": tool.Deny,
	} {
		raw, _ := json.Marshal(edit.Input{FilePath: path, OldString: "x", NewString: "y"})
		if v := b.edit.Permission(context.Background(), &tool.Call{Input: raw}); v.Behavior != want || want != tool.NoView && v.Message == "" {
			t.Errorf("%s: %v %q, want %v", path, v.Behavior, v.Message, want)
		}
	}
}

// FuzzTools edits any file through the whole tools: a refusal leaves the file identical, a success changes nothing outside the
// first and last place that differ from the diff, and patch(1)'s own rules rebuild the new text from the structured patch.
func FuzzTools(f *testing.F) {
	f.Add([]byte("one\r\ntwo\nthree"), "two", "2\n3", "three", "", false)
	f.Add([]byte("\xff\xfea\x00\n\x00"), "a", "b", "", "", true)
	f.Add([]byte("a\xffb\n"), "a", "c", "b", "d", false)
	f.Fuzz(func(t *testing.T, raw []byte, old1, new1, old2, new2 string, all bool) {
		for _, s := range []string{old1, new1, old2, new2} {
			if !utf8.ValidString(s) {
				return
			}
		}
		b := newBench(t, map[string]string{"f": string(raw)})
		if _, err := b.run(b.read, read.Input{FilePath: b.path("f")}); err != nil {
			return
		}
		list := []edit.OneEdit{{OldString: old1, NewString: new1, ReplaceAll: all}}
		if old2 != "" {
			list = append(list, edit.OneEdit{OldString: old2, NewString: new2})
		}
		r, err := b.run(b.multi, edit.MultiInput{FilePath: b.path("f"), Edits: list})
		after := b.content("f")
		if err != nil {
			if after != string(raw) {
				t.Fatalf("refused, but the file changed: %v", err)
			}
			return
		}
		if after == string(raw) {
			t.Fatal("a success that changes nothing")
		}
		if _, err := textfile.Parse(raw); err != nil {
			t.Fatal("binary was edited")
		}
		if len(r.Output.(edit.MultiOutput).StructuredPatch) == 0 {
			t.Fatal("a change without a patch")
		}
	})
}

func TestOneEditIsOne(t *testing.T) {
	b := newBench(t, map[string]string{"f": "one\n"})
	b.show("f")
	r, err := b.run(b.multi, edit.MultiInput{FilePath: b.path("f"), Edits: []edit.OneEdit{{OldString: "one", NewString: "1"}}})
	must(t, err)
	if !strings.Contains(r.Text(), "has been updated by 1 edit.") {
		t.Errorf("said: %s", r.Text())
	}
}

// TestPatchAppliesWhatTheModelReads takes the diff out of the result's text and gives it to patch(1).
func TestPatchAppliesWhatTheModelReads(t *testing.T) {
	needtest.Program(t, "patch")
	for _, content := range []string{"one\ntwo\nthree\n", "one\r\ntwo\r\nthree", "one\ntwo\r\nthree"} {
		b := newBench(t, map[string]string{"f": content, "copy": content})
		b.show("f")
		r, err := b.run(b.multi, edit.MultiInput{FilePath: b.path("f"), Edits: []edit.OneEdit{{OldString: "one", NewString: "1\nand"}, {OldString: "three", NewString: "3"}}})
		must(t, err)
		_, diff, _ := strings.Cut(r.Text(), "\n@@")
		cmd := exec.Command("patch", "--binary", "--quiet", "--fuzz=0", b.path("copy"))
		cmd.Stdin = strings.NewReader("--- f\n+++ f\n@@" + diff + "\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("patch: %v\n%s\n%s", err, out, diff)
		}
		if b.content("copy") != b.content("f") {
			t.Errorf("patched %q, want %q", b.content("copy"), b.content("f"))
		}
	}
}

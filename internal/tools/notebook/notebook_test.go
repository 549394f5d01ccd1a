//go:build unix

package notebook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/internal/tools/read"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
)

// pretty is a notebook as Jupyter writes it, with a key of its own and odd spacing in one cell.
const pretty = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Titel äöü <b>\n",
    "text"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 7,
   "id": "calc",
   "metadata": {"tags": [ "x" ],   "custom": 1.50},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": ["1\n"]
    }
   ],
   "source": [
    "print(1)"
   ]
  },
  {"cell_type": "raw", "id": "last", "metadata": {}, "source": "as a string"}
 ],
 "metadata": {
  "language_info": {
   "name": "python"
  },
  "unknown": {"kept":true}
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
`

const compact = `{"cells":[{"cell_type":"code","metadata":{},"source":["a\n","b"],"outputs":[],"execution_count":null}],"metadata":{},"nbformat":4,"nbformat_minor":2}`

func plan(t *testing.T, text string, in callInput) string {
	t.Helper()
	got, err := apply(text, in)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func apply(text string, in callInput) (string, error) {
	nb, err := parse([]byte(text))
	if err != nil {
		return "", err
	}
	e, err := nb.edit(in, "0badcafe")
	if err != nil {
		return "", err
	}
	raw, err := textfile.Decode([]byte(text), textfile.Encoding{}).Splice(e.splices)
	return string(raw), err
}

func TestEdits(t *testing.T) {
	cases := []struct {
		name string
		text string
		in   callInput
		cut  string // of the text, what is replaced
		want string // by what
	}{
		{"replace keeps the form of the source", pretty, callInput{CellID: "intro", NewSource: "# Neu\nzwei\n"},
			"\"# Titel äöü <b>\\n\",\n    \"text\"", "\"# Neu\\n\",\n    \"zwei\\n\""},
		{"a source that is a string stays one", pretty, callInput{CellID: "last", NewSource: "x\ny <z>"}, `"as a string"`, `"x\ny <z>"`},
		{"insert after a cell", pretty, callInput{CellID: "intro", NewSource: "x = 1", CellType: "code", EditMode: "insert"},
			"   ]\n  },\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": 7",
			"   ]\n  },\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"0badcafe\",\n   \"metadata\": {},\n   \"outputs\": [],\n   \"source\": [\n    \"x = 1\"\n   ]\n  },\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": 7"},
		{"insert at the top", pretty, callInput{CellID: "top", CellType: "markdown", EditMode: "insert"},
			" \"cells\": [\n", " \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"0badcafe\",\n   \"metadata\": {},\n   \"source\": []\n  },\n"},
		{"delete the last", pretty, callInput{CellID: "last", EditMode: "delete"}, ",\n  {\"cell_type\": \"raw\", \"id\": \"last\", \"metadata\": {}, \"source\": \"as a string\"}", ""},
		{"a file on one line stays on one line", compact, callInput{CellID: "cell-0", NewSource: "c\nd"}, `["a\n","b"]`, `["c\n","d"]`},
		{"insert in a file on one line, which has no ids", compact, callInput{CellID: "cell-0", NewSource: "m", CellType: "markdown", EditMode: "insert"},
			`"execution_count":null}`, `"execution_count":null},{"cell_type":"markdown","metadata":{},"source":["m"]}`},
		{"delete the only cell", compact, callInput{CellID: "cell-0", EditMode: "delete"}, compact[len(`{"cells":`):strings.Index(compact, `,"metadata":{},"nbformat"`)], "[]"},
		{"another type", compact, callInput{CellID: "cell-0", NewSource: "t", CellType: "markdown"},
			`{"cell_type":"code","metadata":{},"source":["a\n","b"],"outputs":[],"execution_count":null}`, `{"cell_type":"markdown","metadata":{},"source":["t"]}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if strings.Count(c.text, c.cut) != 1 {
				t.Fatalf("the case is wrong: %q stands %d times", c.cut, strings.Count(c.text, c.cut))
			}
			if d := cmp.Diff(strings.Replace(c.text, c.cut, c.want, 1), plan(t, c.text, c.in)); d != "" {
				t.Error(d)
			}
		})
	}
	t.Run("replacing code clears its outputs and nothing else", func(t *testing.T) {
		got := plan(t, pretty, callInput{CellID: "calc", NewSource: "print(2)"})
		want := strings.Replace(pretty, "print(1)", "print(2)", 1)
		want = strings.Replace(want, `"execution_count": 7`, `"execution_count": null`, 1)
		from, to := strings.Index(want, `"outputs": [`), strings.Index(want, `"source": [`+"\n    \"print(2)")
		want = want[:from] + "\"outputs\": [],\n   " + want[to:]
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
	t.Run("insert into a notebook without cells", func(t *testing.T) {
		got := plan(t, "{\n \"cells\": [],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n", callInput{CellID: "top", NewSource: "x", CellType: "markdown", EditMode: "insert"})
		want := "{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"0badcafe\",\n   \"metadata\": {},\n   \"source\": [\n    \"x\"\n   ]\n  }\n ],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n"
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}

// FuzzEdit: whatever the notebook, an edit that is accepted leaves valid JSON in which only that cell differs.
func FuzzEdit(f *testing.F) {
	f.Add(pretty, "calc", "x\n\"y\"\\", uint8(0))
	f.Add(compact, "cell-0", "", uint8(1))
	f.Add(pretty, "last", "z", uint8(2))
	f.Add(`{ "nbformat" : 4 , "cells" : [ { "source" : "" , "cell_type" : "code" } ] }`, "cell-0", "q", uint8(3))
	f.Fuzz(func(t *testing.T, text, id, source string, how uint8) {
		if !utf8.ValidString(text) || !utf8.ValidString(source) {
			return
		}
		in := callInput{CellID: id, NewSource: source, EditMode: []string{"replace", "insert", "delete", "replace"}[how%4]}
		if how%4 != 0 {
			in.CellType = "markdown"
		}
		got, err := apply(text, in)
		if err != nil {
			return
		}
		before, _ := parse([]byte(text))
		after, err := parse([]byte(got))
		if err != nil {
			t.Fatalf("the result is no notebook: %v\n%s", err, got)
		}
		for _, c := range before.cells {
			if c.id != id && !strings.Contains(got, text[c.start:c.end]) {
				t.Fatalf("cell %s changed", c.id)
			}
		}
		if want := len(before.cells) + map[string]int{"insert": 1, "delete": -1}[in.EditMode]; len(after.cells) != want {
			t.Fatalf("%d cells, want %d", len(after.cells), want)
		}
	})
}

type bench struct {
	t              *testing.T
	path           string
	notebook, read tool.Tool
}

func newBench(t *testing.T, content string) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	b := &bench{t: t, path: filepath.Join(dir, "p", "n.ipynb")}
	must(t, os.Mkdir(filepath.Dir(b.path), 0o755))
	must(t, os.WriteFile(b.path, []byte(content), 0o644))
	ws, err := workspace.Open(filepath.Dir(b.path), &workspace.Options{Home: dir, State: filepath.Join(dir, "state")})
	must(t, err)
	t.Cleanup(func() { must(t, ws.Close()) })
	b.notebook, b.read = New(ws), read.New(ws, nil)
	return b
}

func (b *bench) run(t tool.Tool, in any) (tool.Result, error) {
	b.t.Helper()
	raw, err := json.Marshal(in)
	must(b.t, err)
	c := &tool.Call{Tool: t.Name, Input: raw}
	if p := t.Validate(context.Background(), c); p != nil {
		return tool.Result{}, errors.New(p.Message)
	}
	return t.Run(context.Background(), c)
}

func (b *bench) show() {
	b.t.Helper()
	_, err := b.run(b.read, read.Input{FilePath: b.path})
	must(b.t, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestConformance(t *testing.T) {
	b := newBench(t, pretty)
	reset := func(t *testing.T) {
		must(t, os.WriteFile(b.path, []byte(pretty), 0o644))
		b.show()
	}
	reset(t)
	tooltest.Run(t, tooltest.Subject{Tool: b.notebook, Reset: reset, Valid: []string{
		fmt.Sprintf(`{"notebook_path":%q,"new_source":"x","cell_id":"calc"}`, b.path),
		fmt.Sprintf(`{"notebook_path":%q,"new_source":"","cell_id":"intro","edit_mode":"delete"}`, b.path),
	}})
}

func TestTheToolKeepsLineEndings(t *testing.T) {
	b := newBench(t, strings.ReplaceAll(pretty, "\n", "\r\n"))
	b.show()
	r, err := b.run(b.notebook, callInput{NotebookPath: b.path, CellID: "intro", NewSource: "a\nb"})
	must(t, err)
	raw, err := os.ReadFile(b.path)
	must(t, err)
	want := strings.ReplaceAll(strings.Replace(pretty, "\"# Titel äöü <b>\\n\",\n    \"text\"", "\"a\\n\",\n    \"b\"", 1), "\n", "\r\n")
	if d := cmp.Diff(want, string(raw)); d != "" {
		t.Error(d)
	}
	out := r.Output.(callOutput)
	if out.OldSource != "# Titel äöü <b>\ntext" || out.CellType != "markdown" || out.EditMode != "replace" || out.UpdatedFile != want {
		t.Errorf("output %+v", out)
	}
}

func TestAMarkedNotebookIsMerged(t *testing.T) {
	const mark = "\ufeff"
	b := newBench(t, mark+pretty)
	b.show()
	must(t, os.WriteFile(b.path, []byte(mark+strings.Replace(pretty, "as a string", "changed", 1)), 0o644))
	_, err := b.run(b.notebook, callInput{NotebookPath: b.path, CellID: "calc", NewSource: "print(2)"})
	must(t, err)
	raw, err := os.ReadFile(b.path)
	must(t, err)
	if !strings.HasPrefix(string(raw), mark+"{") || !strings.Contains(string(raw), "print(2)") || !strings.Contains(string(raw), "changed") {
		t.Errorf("content %s", raw)
	}
}

func TestTexts(t *testing.T) {
	var out strings.Builder
	do := func(name, content string, in callInput, change func(b *bench, in *callInput)) {
		b := newBench(t, content)
		if !strings.HasPrefix(name, "unread") {
			_, _ = b.run(b.read, read.Input{FilePath: b.path})
		}
		in.NotebookPath = b.path
		if change != nil {
			change(b, &in)
		}
		r, err := b.run(b.notebook, in)
		text := r.Text()
		if err != nil {
			text = "ERROR " + err.Error()
		}
		text = regexp.MustCompile(`cell [0-9a-f]{8} `).ReplaceAllString(text, "cell ID ")
		fmt.Fprintf(&out, "== %s\n%s\n\n", name, strings.ReplaceAll(text, filepath.Dir(b.path), "/project"))
	}
	do("replace", pretty, callInput{CellID: "calc", NewSource: "print(2)"}, nil)
	do("the same source", pretty, callInput{CellID: "calc", NewSource: "print(1)"}, nil)
	do("delete", pretty, callInput{CellID: "last", EditMode: "delete"}, nil)
	do("no such cell", pretty, callInput{CellID: "nope", NewSource: "x"}, nil)
	do("no cells", `{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":5}`, callInput{CellID: "nope", NewSource: "x"}, nil)
	do("no cell_id", pretty, callInput{NewSource: "x"}, nil)
	do("insert without cell_id", pretty, callInput{NewSource: "x", EditMode: "insert", CellType: "code"}, nil)
	do("insert without cell_type", pretty, callInput{CellID: "calc", NewSource: "x", EditMode: "insert"}, nil)
	do("unread", pretty, callInput{CellID: "calc", NewSource: "x"}, nil)
	do("another file", pretty, callInput{CellID: "calc", NewSource: "x"}, func(b *bench, in *callInput) { in.NotebookPath = filepath.Dir(b.path) + "/x.py" })
	do("relative", pretty, callInput{CellID: "calc", NewSource: "x"}, func(b *bench, in *callInput) { in.NotebookPath = "n.ipynb" })
	do("an old format", `{"cells":[],"nbformat":3}`, callInput{CellID: "calc", NewSource: "x"}, nil)
	do("changed elsewhere", pretty, callInput{CellID: "calc", NewSource: "print(2)"}, func(b *bench, in *callInput) {
		must(t, os.WriteFile(b.path, []byte(strings.Replace(pretty, "as a string", "changed", 1)), 0o644))
	})
	do("changed in the same place", pretty, callInput{CellID: "calc", NewSource: "print(2)"}, func(b *bench, in *callInput) {
		must(t, os.WriteFile(b.path, []byte(strings.Replace(pretty, "print(1)", "print(3)", 1)), 0o644))
	})
	golden.Check(t, "testdata/texts.golden", out.String())
}

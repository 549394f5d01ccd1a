package grep_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/internal/tools/grep"
	"github.com/haftdev/haft/internal/world/search"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
)

// project writes a small tree, each file a minute older than the one before.
func project(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	now := time.Now()
	for i, f := range []struct{ name, text string }{
		{"main.go", "package main\n\nfunc main() {\n\tprintln(\"needle\")\n}\n"},
		{"util/a.go", "package util\n\n// needle one\nfunc A() {}\n\n\n\n// Needle two\n"},
		{"README.md", "A needle in a haystack.\n"},
		{"secret.env", "needle=1\n"},
		{"data.bin", "needle\x00\x01"},
		{"debug.log", "needle logged\n"},
		{"build/out.txt", "needle built\n"},
		{".gitignore", "*.log\nbuild/\n"},
		{".git/HEAD", "ref: refs/heads/main\n"},
		{"with\nbreak.txt", "needle odd\n"},
		{"long.txt", strings.Repeat("x", 2000) + " needle " + strings.Repeat("y", 2000) + "\n"},
	} {
		path := filepath.Join(dir, f.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(f.text), 0o644); err != nil {
			t.Fatal(err)
		}
		at := now.Add(-time.Duration(i) * time.Minute)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func newTool(t *testing.T, dir string) tool.Tool {
	t.Helper()
	s := search.New(nil)
	t.Cleanup(func() { s.Close() })
	return grep.New(&grep.Options{
		Searcher: s,
		Dir:      func() string { return dir },
		Allow:    func(path string) bool { return filepath.Base(path) != "secret.env" },
	})
}

func TestConformance(t *testing.T) {
	tooltest.Run(t, tooltest.Subject{
		Tool: newTool(t, project(t)),
		Valid: []string{
			`{"pattern":"needle"}`,
			`{"pattern":"needle","output_mode":"content","-C":1}`,
			`{"pattern":"n.*e","output_mode":"count","glob":"*.go"}`,
			`{"pattern":"func.*\\{[\\s\\S]*?\\}","multiline":true,"output_mode":"content"}`,
			`{"pattern":"zzz","path":"util","type":"go","head_limit":0}`,
		},
	})
}

func run(t *testing.T, tl tool.Tool, in string) (tool.Result, error) {
	t.Helper()
	set := tool.NewSet(nil, []tool.Tool{tl}, nil, nil)
	fixed, _, err := set.View(&tl).Check([]byte(in))
	if err != nil {
		t.Fatalf("input %s: %v", in, err)
	}
	return tl.Run(t.Context(), &tool.Call{Tool: tl.Name, Input: fixed})
}

// TestTexts pins every text that the model can read.
func TestTexts(t *testing.T) {
	dir := project(t)
	tl := newTool(t, dir)
	var b strings.Builder
	for _, c := range []struct{ name, in string }{
		{"files, newest first", `{"pattern":"needle"}`},
		{"lines with numbers", `{"pattern":"needle","output_mode":"content","glob":"*.go"}`},
		{"lines without numbers", `{"pattern":"needle","output_mode":"content","glob":"*.go","-n":false}`},
		{"context in groups", `{"pattern":"needle","output_mode":"content","-C":1,"-i":true,"type":"go"}`},
		{"counts", `{"pattern":"needle","output_mode":"count","-i":true}`},
		{"only what matches", `{"pattern":"ne+dle \\w+","output_mode":"content","-o":true,"include":"*.go"}`},
		{"a long line is cut around the match", `{"pattern":"needle","output_mode":"content","path":"long.txt"}`},
		{"more than the limit", `{"pattern":"needle","head_limit":2}`},
		{"the next ones", `{"pattern":"needle","head_limit":2,"offset":2}`},
		{"beyond the last", `{"pattern":"needle","offset":99}`},
		{"no files", `{"pattern":"absent"}`},
		{"no lines", `{"pattern":"absent","output_mode":"content"}`},
		{"no counts", `{"pattern":"absent","output_mode":"count"}`},
		{"an ignored file that is named", `{"pattern":"needle","path":"debug.log","output_mode":"content"}`},
		{"an ignored directory that is named", `{"pattern":"needle","path":"build"}`},
		{"a binary file that is named", `{"pattern":"needle","path":"data.bin","output_mode":"content"}`},
		{"a file that must not be read", `{"pattern":"needle","path":"secret.env"}`},
		{"a file that must not be read, by glob", `{"pattern":"needle","glob":"*.env"}`},
		{"a path that is not there", `{"pattern":"needle","path":"utils"}`},
		{"a path near one that must not be named", `{"pattern":"needle","path":"secret.en"}`},
		{"an unclosed group", `{"pattern":"func("}`},
		{"look-around", `{"pattern":"foo(?!bar)"}`},
		{"a back-reference", `{"pattern":"(a)\\1"}`},
		{"a line break without multiline", `{"pattern":"a\\nb"}`},
		{"a pattern that grows too large", `{"pattern":"(\\w{400}){400}"}`},
		{"an unknown type", `{"pattern":"x","type":"golang"}`},
		{"a type that is no type", `{"pattern":"x","type":"qqqq"}`},
		{"braces that do not pair up", `{"pattern":"x","glob":"*.{a"}`},
	} {
		r, err := run(t, tl, c.in)
		text := r.Text()
		if err != nil {
			if e := (*tool.Error)(nil); !errors.As(err, &e) {
				t.Errorf("%s: the error is not for the model: %v", c.name, err)
			}
			text = "ERROR: " + err.Error()
		}
		fmt.Fprintf(&b, "-- %s --\n%s\n%s\n\n", c.name, c.in, strings.ReplaceAll(text, dir, "/project"))
	}
	golden.Check(t, "testdata/texts.golden", b.String())
}

func TestOutputIsTyped(t *testing.T) {
	tl := newTool(t, project(t))
	r, err := run(t, tl, `{"pattern":"needle","output_mode":"count","glob":"*.go"}`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(r.Output)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"mode":"count","numFiles":2,"filenames":[],"content":"main.go:1\nutil/a.go:1","numMatches":2,"totalFiles":2}`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
}

func TestACountOfNothingIsZero(t *testing.T) {
	tl := newTool(t, project(t))
	for mode, want := range map[string]string{
		"content": `{"mode":"content","numFiles":0,"filenames":[],"numLines":0,"totalFiles":0,"totalLines":0`,
		"count":   `{"mode":"count","numFiles":0,"filenames":[],"numMatches":0,"totalFiles":0`,
	} {
		r, err := run(t, tl, `{"pattern":"thereIsNoSuchWord","output_mode":"`+mode+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(r.Output); err != nil || !strings.HasPrefix(string(got), want) {
			t.Errorf("%s, %v", got, err)
		}
	}
}

func TestCancellationIsNotForTheModel(t *testing.T) {
	tl := newTool(t, project(t))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := tl.Run(ctx, &tool.Call{Input: []byte(`{"pattern":"needle"}`)}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

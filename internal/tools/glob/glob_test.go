package glob_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/internal/tools/glob"
	"github.com/haftdev/haft/internal/world/search"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
)

// project writes a small tree, each file a minute older than the one before.
func project(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	names := []string{
		"main.go", "util/a.go", "util/deep/b.go", "src/x.ts", "src/y.tsx", ".hidden/c.go", ".dotfile",
		"debug.log", "build/out.go", ".gitignore", ".git/config.go", "secret.go", "with\nbreak.go", "[x].md",
	}
	for i := range 120 {
		names = append(names, fmt.Sprintf("many/%03d.txt", i))
	}
	now := time.Now()
	for i, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		text := ""
		if name == ".gitignore" {
			text = "*.log\nbuild/\n"
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
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
	return glob.New(&glob.Options{
		Searcher: s,
		Dir:      func() string { return dir },
		Allow:    func(path string) bool { return filepath.Base(path) != "secret.go" },
	})
}

func TestConformance(t *testing.T) {
	tooltest.Run(t, tooltest.Subject{
		Tool:  newTool(t, project(t)),
		Valid: []string{`{"pattern":"**/*.go"}`, `{"pattern":"*.{ts,tsx}","path":"src"}`, `{"pattern":"nothing"}`},
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
		{"any depth", `{"pattern":"*.go"}`},
		{"any depth, spelt out", `{"pattern":"**/*.go"}`},
		{"one level", `{"pattern":"util/*.go"}`},
		{"below a directory", `{"pattern":"util/**"}`},
		{"braces", `{"pattern":"src/*.{ts,tsx}"}`},
		{"a class", `{"pattern":"[mu]*.go"}`},
		{"a literal bracket", `{"pattern":"\\[x\\].md"}`},
		{"hidden names", `{"pattern":".*"}`},
		{"relative to path", `{"pattern":"deep/*.go","path":"util"}`},
		{"an absolute pattern", `{"pattern":"` + dir + `/util/*.go"}`},
		{"a pattern that leaves the path", `{"pattern":"../src/*.ts","path":"util"}`},
		{"an absolute pattern that leaves the path", `{"pattern":"/etc/*.conf"}`},
		{"a pattern that comes back", `{"pattern":"../util/*.go","path":"util"}`},
		{"an ignored directory that is named", `{"pattern":"*.go","path":"build"}`},
		{"more than are named", `{"pattern":"many/*.txt"}`},
		{"none", `{"pattern":"*.rs"}`},
		{"ignored", `{"pattern":"*.log"}`},
		{"not to be named", `{"pattern":"secret*"}`},
		{"a path that is not there", `{"pattern":"*.go","path":"utill"}`},
		{"a path that is a file", `{"pattern":"*.go","path":"main.go"}`},
		{"braces that do not pair up", `{"pattern":"*.{go"}`},
	} {
		r, err := run(t, tl, c.in)
		text := r.Text()
		if err != nil {
			if e := (*tool.Error)(nil); !errors.As(err, &e) {
				t.Errorf("%s: the error is not for the model: %v", c.name, err)
			}
			text = "ERROR: " + err.Error()
		}
		if c.name == "more than are named" {
			lines := strings.Split(text, "\n")
			text = strings.Join(append(lines[:2], lines[len(lines)-4:]...), "\n")
		}
		fmt.Fprintf(&b, "-- %s --\n%s\n%s\n\n", c.name, strings.ReplaceAll(c.in, dir, "/project"), strings.ReplaceAll(text, dir, "/project"))
	}
	golden.Check(t, "testdata/texts.golden", b.String())
}

func TestOutputIsTyped(t *testing.T) {
	tl := newTool(t, project(t))
	r, err := run(t, tl, `{"pattern":"many/*.txt"}`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(r.Output)
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`"durationMs":\d+`).ReplaceAllString(string(got), `"durationMs":0`)
	_, tail, _ := strings.Cut(text, "]")
	if d := cmp.Diff(`,"durationMs":0,"numFiles":100,"truncated":true,"totalMatches":120,"countIsComplete":true}`, tail); d != "" {
		t.Error(d)
	}
}

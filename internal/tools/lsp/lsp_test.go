package lsp_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/tools/lsp"
	language "github.com/haftdev/haft/internal/world/lsp"
	"github.com/haftdev/haft/internal/world/lsp/lsptest"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
)

func fake(behaviour string) *language.Options {
	return &language.Options{Definitions: []language.Definition{lsptest.Definition(behaviour)}}
}

func TestConformance(t *testing.T) {
	r := newRig(t, map[string]string{"a.fake": "one two\none wrong"}, fake("slow"))
	path := filepath.Join(r.dir, "a.fake")
	r.ask(t, "goToDefinition", "a.fake", "one") // the server stays
	tooltest.Run(t, tooltest.Subject{
		Tool: *r.set.Lookup("LSP"), Session: r.set.Session(), Tools: r.set, Dir: r.dir,
		Valid: []string{`{"operation":"goToDefinition","filePath":"` + path + `","line":2,"character":1}`, `{"operation":"diagnostics","filePath":"` + path + `"}`},
		Slow:  `{"operation":"hover","filePath":"` + path + `","line":1,"character":1}`,
	})
}

func TestAnswers(t *testing.T) {
	r := newRig(t, map[string]string{"a.fake": "one two\none\twrong"}, fake("good"))
	for _, tt := range []struct{ operation, mark, want string }{
		{"goToDefinition", "two", "1 definition in 1 file:\na.fake:1:5: one two"},
		{"hover", "two", "a word"},
		{"findReferences", "two", "No reference was found for line 1, character 5. The line has these names: one at 1, two at 5."},
		{"documentSymbol", "", "The language server finds no declarations in the file."},
		{"workspaceSymbol", "two", `No symbol in the project has a name like "two".`},
		{"diagnostics", "", "1 finding in a.fake:\nerror 2:5: wrong: one\twrong"},
	} {
		if got := r.ask(t, tt.operation, "a.fake", tt.mark); got != tt.want {
			t.Errorf("%s: got %q", tt.operation, got)
		}
	}
}

// TestErrorsSayWhatToDo, and are for the model to read.
func TestErrorsSayWhatToDo(t *testing.T) {
	missing := lsptest.Definition("good")
	missing.Programs, missing.Languages, missing.Install = []string{"no-such-server"}, map[string]string{".missing": "x"}, "apt install it"
	opts := fake("good")
	opts.Definitions = append(opts.Definitions, missing)
	r := newRig(t, map[string]string{"a.fake": "one", "b.missing": "", "c.cobol": ""}, opts)
	if err := os.Mkdir(filepath.Join(r.dir, "d.fake"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		in   lsp.Input
		want string
	}{
		{lsp.Input{Operation: "hover", FilePath: "b.missing", Line: 1, Character: 1}, "not installed: no-such-server was not found in PATH. The user can install it with apt install it."},
		{lsp.Input{Operation: "hover", FilePath: "c.cobol", Line: 1, Character: 1}, "no language server is known for c.cobol"},
		{lsp.Input{Operation: "diagnostics", FilePath: "gone.fake"}, "gone.fake does not exist"},
		{lsp.Input{Operation: "diagnostics", FilePath: "d.fake"}, "is not a regular file"},
		{lsp.Input{Operation: "hover", FilePath: "a.fake", Line: 9, Character: 1}, "has only 1 line, but line is 9"},
	} {
		_, err := r.call(t.Context(), tt.in)
		if taught := (*tool.Error)(nil); !errors.As(err, &taught) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v", tt.in, err)
		}
	}
	x := r.set.Lookup("LSP")
	if p := x.Validate(t.Context(), &tool.Call{Input: []byte(`{"operation":"hover","filePath":"/a.go"}`)}); p == nil || !strings.Contains(p.Message, "hover needs line and character") {
		t.Errorf("got %v", p)
	}
}

// TestFilesThatMayNotBeReadAreNotNamed hides what a rule denies.
func TestFilesThatMayNotBeReadAreNotNamed(t *testing.T) {
	r := newRig(t, map[string]string{"a.fake": "one"}, fake("good"))
	hides := lsp.New(&lsp.Options{Servers: r.servers, Show: func(string) bool { return false }}).LSP()
	result, err := hides.Run(t.Context(), &tool.Call{Dir: r.dir, Input: []byte(`{"operation":"goToDefinition","filePath":"a.fake","line":1,"character":1}`)})
	if err != nil || strings.Contains(result.Text(), "a.fake") || !strings.Contains(result.Text(), "1 definition not shown: in files that may not be read") {
		t.Errorf("got %q, %v", result.Text(), err)
	}
}

// TestAnUnconfinedServerIsNoReader: what confines it decides whether a call only reads.
func TestAnUnconfinedServerIsNoReader(t *testing.T) {
	call := &tool.Call{Input: []byte(`{"operation":"diagnostics","filePath":"/a.go"}`)}
	open, closed := lsp.New(nil).LSP(), lsp.New(&lsp.Options{Confined: func() bool { return true }}).LSP()
	if open.MarksOf(call).ReadOnly || open.OnlyFiles(call) || !closed.MarksOf(call).ReadOnly || !closed.OnlyFiles(call) {
		t.Error("the marks do not follow the confinement")
	}
}

func TestAfterEdit(t *testing.T) {
	r := newRig(t, map[string]string{"a.fake": "one"}, fake("good"))
	after := func(text string) string {
		r.write(t, "a.fake", text)
		return r.tools.AfterEdit(t.Context(), r.dir, []string{"a.fake"})
	}
	if got := after("wrong"); got != "" {
		t.Errorf("without a server: %q", got)
	}
	r.ask(t, "hover", "a.fake", "wrong")
	if got := after("now wrong"); got != "fake finds these errors in a.fake:\nerror 1:5: wrong: now wrong" {
		t.Errorf("got %q", got)
	}
	if got := after("now wrong\nstill wrong"); got != "fake finds these new errors in a.fake:\nerror 2:7: wrong: still wrong" {
		t.Errorf("got %q", got)
	}
	if got := after(strings.Repeat("more wrong\n", 30)); strings.Count(got, "\n") != 11 || !strings.HasSuffix(got, "… [20 more]") {
		t.Errorf("got %q", got)
	}
	if got := after("fine"); got != "" {
		t.Errorf("got %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.write(t, "a.fake", "wrong again")
	if got := r.tools.AfterEdit(ctx, r.dir, []string{"a.fake"}); got != "" {
		t.Errorf("got %q", got)
	}
}

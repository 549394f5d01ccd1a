package harness_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/lsp/lsptest"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sched"
)

// TestALanguageServerOfASession: a model finds the tool, asks, edits, and reads the
// errors that it made. Nobody is asked, because the server can only read.
func TestALanguageServerOfASession(t *testing.T) {
	needtest.Need(t, needtest.Namespaces)
	r := newRig(t)
	path := r.put("a.fake", "one two\n")
	r = r.with(
		script.Turn{Blocks: []script.Block{call("ToolSearch", `{"query":"select:LSP"}`)}},
		script.Turn{Blocks: []script.Block{call("LSP", `{"operation":"hover","filePath":"`+path+`","line":1,"character":1}`), call("Read", in("file_path", path))}},
		script.Turn{Blocks: []script.Block{call("Edit", in("file_path", path, "old_string", "two", "new_string", "wrong"))}},
		says("done"),
	)
	r.userSettings(lsptest.Settings("writes"))
	c := r.talk(harness.Options{Mode: "acceptEdits", Reexec: shellrun.Supervise()}, harness.TalkOptions{})
	defer c.Close(t.Context())
	if _, last := r.say(c, "begin"); last.Text != "done" {
		t.Fatalf("%+v", last)
	}
	requests := r.server.Requests()
	if body := string(requests[2].Body); !strings.Contains(body, "write: open written-by-server: read-only file system") {
		t.Errorf("the server was not confined, or did not answer: %s", body[max(0, len(body)-1500):])
	}
	if _, err := os.Stat(filepath.Join(r.dir, "written-by-server")); err == nil {
		t.Error("the server has written in the project")
	}
	if body := string(requests[3].Body); !strings.Contains(body, `fake finds these errors in a.fake:\nerror 1:5: wrong: one wrong`) {
		t.Errorf("the edit does not show its error: %s", body[max(0, len(body)-1500):])
	}
}

// TestAnUnconfinedLanguageServerIsAskedAbout, because it may do more than read.
func TestAnUnconfinedLanguageServerIsAskedAbout(t *testing.T) {
	r := newRig(t, says("hello"))
	input := `{"operation":"hover","filePath":"` + r.put("a.fake", "one") + `","line":1,"character":1}`
	for settings, want := range map[string]sched.Status{
		`{"sandbox":{"mode":"off"},`:                                       sched.Denied,
		`{"sandbox":{"mode":"off"},"permissions":{"allow":["LSP"]},`:       sched.Succeeded,
		`{"sandbox":{"mode":"off"},"permissions":{"allow":["Read(/**)"]},`: sched.Denied,
	} {
		r.userSettings(settings + lsptest.Settings("good")[1:])
		c := r.talk(harness.Options{Reexec: shellrun.Supervise()}, harness.TalkOptions{})
		if out := callIn(t, c, permission.Default, "LSP", input); out.Status != want {
			t.Errorf("%s: %v: %s", settings, out.Status, out.Result.Text())
		}
		c.Close(t.Context())
	}
}

// TestAProjectSetsUpNoLanguageServer: a folder must not name programs to run.
func TestAProjectSetsUpNoLanguageServer(t *testing.T) {
	r := newRig(t, says("hello"))
	r.put(".claude/settings.json", lsptest.Settings("good"))
	path := r.put("a.fake", "one")
	c := r.talk(harness.Options{Reexec: shellrun.Supervise()}, harness.TalkOptions{})
	defer c.Close(t.Context())
	out := callIn(t, c, permission.Default, "LSP", `{"operation":"diagnostics","filePath":"`+path+`"}`)
	if !strings.Contains(out.Result.Text(), "no language server is known for a.fake") {
		t.Errorf("got %s", out.Result.Text())
	}
}

// TestGoplsInASession asks the real server where it is confined as in every session.
func TestGoplsInASession(t *testing.T) {
	gopls := needtest.Go(t, "golang.org/x/tools/gopls@v0.20.0")
	r := newRig(t, says("hello"))
	t.Setenv("PATH", filepath.Dir(gopls)+":"+os.Getenv("PATH"))
	if err := os.MkdirAll(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "go-build"), 0o755); err != nil { // as everybody has it who uses Go
		t.Fatal(err)
	}
	r.put("go.mod", "module example.com/x\n\ngo 1.24\n")
	path := r.put("x.go", "package x\n\nimport \"strings\"\n\nfunc F() string { return strings.ToUpper(\"x\") }\n")
	c := r.talk(harness.Options{Reexec: shellrun.Supervise()}, harness.TalkOptions{})
	defer c.Close(t.Context())
	for operation, want := range map[string]string{
		"hover": "ToUpper returns s with all", "goToDefinition": "strings.go:", "diagnostics": "gopls finds nothing wrong",
	} {
		out := callIn(t, c, permission.Default, "LSP", `{"operation":"`+operation+`","filePath":"`+path+`","line":5,"character":34}`)
		if !strings.Contains(out.Result.Text(), want) {
			t.Errorf("%s: %s", operation, out.Result.Text())
		}
	}
}

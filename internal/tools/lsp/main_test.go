package lsp_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/tools/lsp"
	language "github.com/haftdev/haft/internal/world/lsp"
	"github.com/haftdev/haft/internal/world/lsp/lsptest"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
)

func TestMain(m *testing.M) {
	lsptest.Serve(os.Stdin, os.Stdout)
	shellrun.Supervise()
	os.Exit(m.Run())
}

// A rig is the tool in a project of its own.
type rig struct {
	dir     string
	servers *language.Servers
	tools   *lsp.Tools
	set     *tool.Set
}

// newRig writes a project and lets servers be found in the folders of path.
func newRig(t testing.TB, files map[string]string, opts *language.Options, path ...string) *rig {
	t.Helper()
	needtest.Program(t, "bash")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{dir: dir}
	for name, text := range files {
		r.write(t, name, text)
	}
	environ := append(os.Environ(), "PATH="+strings.Join(append(path, os.Getenv("PATH")), ":"))
	host := shellrun.NewHost(&shellrun.Options{Reexec: shellrun.Supervise(), NoProfile: true, Environ: environ})
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	var o language.Options
	if opts != nil {
		o = *opts
	}
	o.Roots = func() []string { return []string{r.dir} }
	r.servers = language.NewServers(host, &o)
	r.tools = lsp.New(&lsp.Options{Servers: r.servers, Confined: func() bool { return true }})
	r.set = tool.NewSet(&tool.Session{}, []tool.Tool{r.tools.LSP()}, nil, nil)
	return r
}

func (r *rig) write(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// call runs the tool.
func (r *rig) call(ctx context.Context, in lsp.Input) (tool.Result, error) {
	raw, err := json.Marshal(in)
	if err != nil {
		return tool.Result{}, err
	}
	x := r.set.Lookup("LSP")
	fixed, _, err := r.set.View(x).Check(raw)
	if err != nil {
		return tool.Result{}, err
	}
	return x.Run(ctx, &tool.Call{ID: "call-0", UseID: "toolu_0", Tool: "LSP", Input: fixed, Dir: r.dir, Session: r.set.Session(), Tools: r.set})
}

// ask asks about the first place where mark is, which is in a file that has it.
func (r *rig) ask(t testing.TB, operation, file, mark string) string {
	t.Helper()
	in := lsp.Input{Operation: operation, FilePath: file}
	if mark != "" {
		raw, err := os.ReadFile(filepath.Join(r.dir, file))
		if err != nil {
			t.Fatal(err)
		}
		before, _, found := strings.Cut(string(raw), mark)
		if !found {
			t.Fatalf("%q is not in %s", mark, file)
		}
		in.Line = strings.Count(before, "\n") + 1
		in.Character = len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1
	}
	result, err := r.call(t.Context(), in)
	if err != nil {
		t.Fatalf("%s at %q: %v", operation, mark, err)
	}
	return result.Text()
}

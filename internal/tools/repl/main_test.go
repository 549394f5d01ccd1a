package repl_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/tools/repl"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
)

func TestMain(m *testing.M) {
	shellrun.Supervise()
	if os.Getenv("HAFT_REPL_VICTIM") != "" {
		victim()
		return
	}
	os.Exit(m.Run())
}

// A rig is the tool in a session of its own.
type rig struct {
	host  *shellrun.Host
	tools *repl.Tools
	set   *tool.Set
}

func newRig(t testing.TB, opts *repl.Options) *rig {
	t.Helper()
	needtest.Program(t, "bash")
	needtest.Program(t, "python3")
	needtest.Program(t, "node")
	r := newRawRig(&shellrun.Options{}, opts)
	t.Cleanup(func() {
		if err := r.host.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func newRawRig(hostOpts *shellrun.Options, opts *repl.Options) *rig {
	hostOpts.Reexec, hostOpts.NoProfile = shellrun.Supervise(), true
	r := &rig{host: shellrun.NewHost(hostOpts)}
	r.tools = repl.New(r.host, opts)
	r.set = tool.NewSet(&tool.Session{}, []tool.Tool{r.tools.REPL()}, nil, nil)
	return r
}

// call runs the tool with what reports its progress.
func (r *rig) call(ctx context.Context, in repl.Input, report func(tool.Progress)) (tool.Result, error) {
	raw, err := json.Marshal(in)
	if err != nil {
		return tool.Result{}, err
	}
	x := r.set.Lookup("REPL")
	fixed, _, err := r.set.View(x).Check(raw)
	if err != nil {
		return tool.Result{}, err
	}
	return x.Run(ctx, &tool.Call{ID: "call-0", UseID: "toolu_0", Tool: "REPL", Input: fixed, Session: r.set.Session(), Tools: r.set, Progress: report})
}

// eval evaluates code and returns what programs get.
func (r *rig) eval(t testing.TB, language, code string) repl.Output {
	t.Helper()
	return r.outcome(t, repl.Input{Language: language, Code: code})
}

func (r *rig) outcome(t testing.TB, in repl.Input) repl.Output {
	t.Helper()
	result, err := r.call(t.Context(), in, nil)
	if err != nil {
		t.Fatalf("%s: %v", in.Code, err)
	}
	return result.Output.(repl.Output)
}

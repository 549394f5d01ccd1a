package bash_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
)

func TestMain(m *testing.M) {
	shellrun.Supervise()
	os.Exit(m.Run())
}

// A rig is the tools in a session of their own.
type rig struct {
	host  *shellrun.Host
	tools *bash.Tools
	set   *tool.Set
	ended chan *shellrun.Task
}

func newRig(t testing.TB, hostOpts *shellrun.Options, opts *bash.Options) *rig {
	t.Helper()
	needtest.Program(t, "bash")
	r := newRawRig(hostOpts, opts)
	t.Cleanup(func() {
		if err := r.host.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func newRawRig(hostOpts *shellrun.Options, opts *bash.Options) *rig {
	var o shellrun.Options
	if hostOpts != nil {
		o = *hostOpts
	}
	r := &rig{ended: make(chan *shellrun.Task, 10)}
	o.Reexec, o.NoProfile = shellrun.Supervise(), true
	o.OnEnd = func(task *shellrun.Task) { r.ended <- task }
	r.host = shellrun.NewHost(&o)
	r.tools = bash.New(r.host, opts)
	r.set = tool.NewSet(&tool.Session{Flags: map[string]bool{bash.BackgroundFlag: true}}, r.tools.List(), nil, nil)
	return r
}

// call runs a tool as the pipeline does: shape, meaning, the tool's own view,
// work.
func (r *rig) call(ctx context.Context, name, agent, input string) (tool.Result, error) {
	t := r.set.Lookup(name)
	if t == nil {
		return tool.Result{}, tool.Errorf("no tool %s", name)
	}
	fixed, _, err := r.set.View(t).Check([]byte(input))
	if err != nil {
		return tool.Result{}, err
	}
	c := &tool.Call{ID: "call-0", UseID: "toolu_0", Tool: t.Name, Agent: agent, Input: fixed, Session: r.set.Session(), Tools: r.set}
	if t.Validate != nil {
		if p := t.Validate(ctx, c); p != nil {
			return tool.Result{}, tool.Errorf("%s", p.Message)
		}
	}
	if t.Permission != nil {
		if v := t.Permission(ctx, c); v.Input != nil {
			c = c.WithInput(v.Input)
		}
	}
	return t.Run(ctx, c)
}

// bash runs one command and returns how it reads and what programs get.
func (r *rig) bash(t testing.TB, command string) (tool.Result, bash.Output) {
	t.Helper()
	input, err := json.Marshal(bash.Input{Command: command})
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.call(t.Context(), "Bash", "", string(input))
	if err != nil {
		t.Fatal(err)
	}
	return result, result.Output.(bash.Output)
}

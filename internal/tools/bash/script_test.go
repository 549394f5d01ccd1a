package bash_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// TestScripts plays sessions: call TOOL INPUT [AGENT] prints a result, and sets
// TASK to the id of a background command; announced waits for the end of one
// and prints what the conversation is told; endagent AGENT ends an agent.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: golden.Updating(),
		Setup: func(env *testscript.Env) error {
			t.Cleanup(func() { os.Remove(filepath.Dir(env.WorkDir)) }) // testscript leaves it where only some scripts run
			work, err := filepath.EvalSymlinks(env.WorkDir)
			if err != nil {
				return err
			}
			env.Setenv("WORK", work)
			r := newRawRig(
				&shellrun.Options{Environ: append(os.Environ(), "HAFT_ENV_FILE="+filepath.Join(work, "env.sh"), "ANTHROPIC_API_KEY=secret")},
				&bash.Options{Dir: work})
			env.Values["rig"] = r
			env.Defer(func() { r.host.Close() })
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"call":      scriptCall,
			"announced": scriptAnnounced,
			"endagent":  func(ts *testscript.TestScript, _ bool, args []string) { rigOf(ts).tools.EndAgent(args[0]) },
		},
	})
}

func rigOf(ts *testscript.TestScript) *rig { return ts.Value("rig").(*rig) }

func scriptCall(ts *testscript.TestScript, neg bool, args []string) {
	agent := ""
	if len(args) == 3 {
		agent = args[2]
	}
	result, err := rigOf(ts).call(context.Background(), args[0], agent, args[1])
	text := result.Text()
	if err != nil {
		text = err.Error()
	}
	if out, ok := result.Output.(bash.Output); ok && out.BackgroundTaskID != "" {
		ts.Setenv("TASK", out.BackgroundTaskID)
		ts.Setenv("FILE", out.PersistedPath)
	}
	_, _ = ts.Stdout().Write([]byte(text + "\n"))
	if failed := err != nil || result.Failed; failed != neg {
		ts.Fatalf("failed: %v, result:\n%s", failed, text)
	}
}

func scriptAnnounced(ts *testscript.TestScript, _ bool, _ []string) {
	select {
	case task := <-rigOf(ts).ended:
		_, text := bash.Ending(task)
		_, _ = ts.Stdout().Write([]byte(text + "\n"))
	case <-time.After(10 * time.Second):
		ts.Fatalf("nothing ended")
	}
}

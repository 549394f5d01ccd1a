//go:build linux

package command_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	mathrand "math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/fleet/internal/workspace"
	"github.com/haftdev/haft/model/script"
)

// Workers on three machines are killed again and again while runs append to a file of a repository.
// In the end each run has been answered, and its file has what the journal says: each command that
// has a result once, and none that never ran.
func TestChaosWithWorkspaces(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.setOverride(func(q *script.Request) (script.Turn, bool) {
		last := q.LastText()
		if !strings.Contains(last, "TURN") && !strings.Contains(last, "The worker that ran this turn was lost") {
			return script.Turn{}, false
		}
		input, _ := json.Marshal(map[string]string{"command": "sleep 0.1; echo mark-" + rand.Text() + " >>effects; sleep 0.2"})
		return script.Turn{Blocks: []script.Block{{Tool: "Bash", Input: input}}}, true
	})
	remote, prompts := f.remote(), map[string][]string{}
	for range 3 {
		id := ""
		for range 4 {
			var prompt string
			var err error
			if id, prompt, err = f.runs.Submit(t.Context(), &runs.Submission{
				ID: id, Args: []string{"--permission-mode=bypassPermissions", "--model=sonnet"}, Prompt: runs.Prompt{Text: "TURN"},
				Workspace: &runs.Workspace{Spec: workspace.Spec{Repository: remote}},
			}); err != nil {
				t.Fatal(err)
			}
			prompts[id] = append(prompts[id], prompt)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), chaosTime(t, 10*time.Second))
	defer stop()
	hosts := []string{"host-a", "host-b", "host-c"}
	start := func(n int) func() {
		w := f.startHost(hosts[n], "--attempts", "1000")
		return func() { kill(w) }
	}
	kills, killed := []func(){start(0), start(1), start(2)}, 0
	for ; ctx.Err() == nil; killed++ {
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(300+mathrand.IntN(900)) * time.Millisecond):
			n := mathrand.IntN(len(hosts))
			kills[n]()
			kills[n] = start(n)
		}
	}
	var sum tally
	for id, list := range prompts {
		for _, p := range list {
			if out, err := f.runs.Await(t.Context(), id, p); err != nil || out.IsError {
				t.Fatalf("run %s: %+v, %v", id, out, err)
			}
		}
		waitFor(t, "the run to rest", func() bool { return f.show(id).State == runs.Idle })
		to, told := filepath.Join(f.dir, "got-"+id), map[string]string{}
		f.operate("runs", "files", id, "--to", to)
		f.check(id, list, &sum, told)
		f.effects = filepath.Join(to, "effects")
		f.checkEffects(&sum, told)
	}
	t.Logf("%d workers killed: %+v", killed, sum)
	if sum.calls < 12 || sum.effects < 12 {
		t.Errorf("twelve turns made %+v", sum)
	}
}

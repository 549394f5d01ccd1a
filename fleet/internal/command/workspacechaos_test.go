//go:build linux

package command_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
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
	ctx, stop := context.WithTimeout(t.Context(), chaosTime(t, 10*time.Second))
	defer stop()
	remote, prompts := f.remote(), map[string][]string{}
	var mu sync.Mutex
	var leading sync.WaitGroup
	for range 3 {
		leading.Go(func() {
			for first := true; first || ctx.Err() == nil; first = false {
				id, list, err := f.workOn(t.Context(), remote, 4)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				prompts[id] = list
				mu.Unlock()
			}
		})
	}
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
	leading.Wait()
	var sum tally
	for id, list := range prompts {
		waitFor(t, "the run to rest", func() bool { return f.show(id).State == runs.Idle })
		to, told := filepath.Join(f.dir, "got-"+id), map[string]string{}
		f.operate("runs", "files", id, "--to", to)
		f.check(id, list, &sum, told)
		f.effects = filepath.Join(to, "effects")
		f.checkEffects(&sum, told)
	}
	t.Logf("%d workers killed, %d runs of 4 turns: %+v", killed, len(prompts), sum)
	if turns := 4 * len(prompts); sum.calls < turns || sum.effects < turns {
		t.Errorf("%d turns made %+v", turns, sum)
	}
}

// workOn lets a run append to a file of a repository in some turns, and waits for all of them.
func (f *fleet) workOn(ctx context.Context, remote string, turns int) (id string, prompts []string, err error) {
	for range turns {
		var prompt string
		if id, prompt, err = f.runs.Submit(ctx, &runs.Submission{
			ID: id, Args: []string{"--permission-mode=bypassPermissions", "--model=sonnet"}, Prompt: runs.Prompt{Text: "TURN"},
			Workspace: &runs.Workspace{Spec: workspace.Spec{Repository: remote}},
		}); err != nil {
			return "", nil, err
		}
		prompts = append(prompts, prompt)
	}
	for _, p := range prompts {
		if out, err := f.runs.Await(ctx, id, p); err != nil || out.IsError {
			return "", nil, fmt.Errorf("run %s: %+v, %v", id, out, err)
		}
	}
	return id, prompts, nil
}

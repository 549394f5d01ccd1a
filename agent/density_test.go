package agent_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness/sysprompt/prompt"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A thousand conversations at once in one process, each with its journal and, the
// scripted model being in the same process, with both ends of its connection: all
// end, and they cost little while they are idle.
func TestDensity(t *testing.T) {
	sessions := 1000
	if !needtest.Thorough() || raced {
		sessions = 150
	}
	const budget = 300 << 10
	payload := json.RawMessage(`{"say":"` + strings.Repeat("x", 2000) + `"}`)
	srv, err := script.Serve(&script.Options{Keep: -1, Unchecked: true, Answer: func(r *script.Request) script.Turn {
		if r.Turn%2 == 0 {
			return script.Turn{Blocks: []script.Block{{Text: "Looking."}, {Tool: "Echo", ID: fmt.Sprint("t", r.Turn), Input: payload}}}
		}
		return script.Turn{Blocks: []script.Block{{Text: "It said so."}}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	m := anthropic.New(&anthropic.Options{BaseURL: srv.URL(), Key: "none"})
	tools := tool.NewSet(nil, []tool.Tool{echo()}, nil, nil)
	store, dir := session.Open(t.TempDir()), t.TempDir()
	base := inUse()

	agents := make([]*agent.Agent, sessions)
	var finished atomic.Int32
	var wg sync.WaitGroup
	for i := range agents {
		s, err := store.Create(t.Context(), &session.CreateOptions{Cwd: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		agents[i] = start(t, &agent.Options{
			Model: m, ModelName: "claude-opus-5-5", System: prompt.System(nil), Tools: tools, Sched: sched.Options{Judge: allow}, Journal: s,
			Facts: prompt.NewFacts(&prompt.FactsOptions{Dir: dir}).Tell,
		})
		wg.Go(func() {
			a := agents[i]
			for range 2 {
				a.Send(userSays("go"))
				for ev := range a.Run(t.Context()) {
					if r, ok := ev.(agent.Result); ok && r.Reason == agent.Completed {
						finished.Add(1)
					}
				}
			}
		})
	}
	wg.Wait()
	if n := int(finished.Load()); n != 2*sessions {
		t.Errorf("%d of %d turns finished", n, 2*sessions)
	}
	each := (inUse() - base) / int64(sessions)
	t.Logf("%d bytes for each of %d idle sessions", each, sessions)
	if each > budget {
		t.Errorf("an idle session holds %d bytes, more than %d", each, budget)
	}
	runtime.KeepAlive(agents)
}

// inUse is how much memory the process needs for what it holds.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

package harness_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/script"
)

// TestFiftyAgentsAtOnce lets one message start fifty agents that read, think and
// answer, and one whose connection hangs. They finish, it stalls within its limit,
// and none of them costs much memory.
func TestFiftyAgentsAtOnce(t *testing.T) {
	const n, most = 50, 500 << 10
	r := newRig(t)
	note := in("file_path", r.dir+"/note.txt")
	writeFile(t, r.dir+"/note.txt", strings.Repeat("hello\n", 100))
	r.server.Close()
	server, err := scripttest.Serve(t, &script.Options{Keep: -1, Answer: func(q *script.Request) script.Turn {
		switch first := q.FirstText(); {
		case strings.Contains(first, "HANG"):
			return hangs()
		case strings.Contains(first, "CHILD") && q.Turn < 3:
			return script.Turn{Blocks: []script.Block{{Text: "step"}, call("Read", note)}}
		case strings.Contains(first, "CHILD"):
			return says("finished CHILD")
		case strings.Contains(q.LastText(), "all of you"):
			turn := uses("Agent", `{"description":"hang","prompt":"HANG","run_in_background":false}`)
			for i := range n {
				turn.Blocks = append(turn.Blocks, call("Agent", fmt.Sprintf(`{"description":"work","prompt":"CHILD %d","run_in_background":false}`, i)))
			}
			return turn
		case strings.Contains(q.LastText(), "one of you"):
			return uses("Agent", `{"description":"first","prompt":"CHILD","run_in_background":false}`)
		}
		return says("ok")
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	r.server = server
	c := r.talk(harness.Options{Settings: `{"agents":{"idleSeconds":6}}`}, harness.TalkOptions{})
	defer c.Close(t.Context())
	r.say(c, "one of you") // what is made once
	before := heap()
	c.Send(agent.Prompt{Content: []model.Block{model.TextOf("all of you")}})
	var finished, stalled int
	began := time.Now()
	var peak int64
	for ev, err := range c.Run(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ev, ok := ev.(agent.Returned)
		if !ok || ev.Outcome.Tool != "Agent" {
			continue
		}
		switch text := ev.Outcome.Result.Text(); {
		case strings.Contains(text, "finished CHILD"):
			finished++
		case strings.Contains(text, "did not finish (stalled)") && strings.Contains(text, "so far"):
			stalled++
		default:
			t.Errorf("report %q", text)
		}
		if finished == n/2 && peak == 0 {
			peak = heap() - before
		}
	}
	if finished != n || stalled != 1 {
		t.Errorf("%d finished and %d stalled, want %d and 1", finished, stalled, n)
	}
	each := (heap() - before) / n
	t.Logf("%s; %d bytes each when half had finished, %d bytes each afterwards", time.Since(began).Round(time.Millisecond), peak/n, each)
	if !raced && (each > most || peak/n > most) {
		t.Errorf("an agent costs %d bytes while they work and %d afterwards, want at most %d", peak/n, each, most)
	}
}

func heap() int64 {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

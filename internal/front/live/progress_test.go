//go:build unix

package live_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/front/live"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/test/waiting"
	"github.com/haftdev/haft/internal/world/mcp/config"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

func TestMain(m *testing.M) {
	if waiting.Serving() {
		return
	}
	os.Exit(m.Run())
}

// Those who watch see that calls run and what they report, whatever kind of call it is, and those
// who come later see at once how it is.
func TestRunningCallsAreSeen(t *testing.T) {
	command, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server, err := json.Marshal(map[string]any{"type": "stdio", "command": command, "env": map[string]string{waiting.Variable: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	talk := harness.TalkOptions{Person: sched.AskerFunc(silent)}
	talk.MCP.Wait = 20 * time.Second
	talk.MCP.Entries = []config.Entry{{Name: waiting.Server, Raw: server, Scope: "dynamic", Origin: "the test"}}
	s := newStageOf(t, harness.Options{Allowed: waiting.Allowed, Preview: "off", Embedded: []tool.Tool{waiting.Tool()}}, talk, func(dir string) *script.Scenario {
		return &script.Scenario{Parts: waiting.Parts(dir)}
	})
	say(s, waiting.Prompt)
	first := watch(t, s, &wire.Observe{Name: "the first one"}, nil)
	reports := func(w *watcher, kind waiting.Kind) bool {
		return w.has(func(m wire.Message) bool {
			p, ok := m.(*wire.ToolProgress)
			return ok && p.ToolName == kind.Tool && p.State == wire.CallExecuting && strings.Contains(string(p.Progress), kind.Report)
		})
	}
	for _, kind := range waiting.Kinds {
		wait(t, "the report of "+kind.Tool, func() bool { return reports(first, kind) })
		later := watch(t, s, &wire.Observe{Name: "a later one"}, nil)
		wait(t, "the state of "+kind.Tool+" for one who comes later", func() bool { return reports(later, kind) })
		if err := kind.End(s.dir); err != nil {
			t.Fatal(err)
		}
		wait(t, "the end of "+kind.Tool, func() bool {
			return later.has(func(m wire.Message) bool {
				p, ok := m.(*wire.ToolProgress)
				return ok && p.ToolName == kind.Tool && p.State == wire.CallCompleted
			})
		})
		later.end()
	}
	<-s.ended
	first.mu.Lock()
	defer first.mu.Unlock()
	states := map[string][]string{}
	for _, m := range first.seen {
		if p, ok := m.(*wire.ToolProgress); ok && p.AgentID == "" && !slices.Contains(states[p.ToolName], p.State) {
			states[p.ToolName] = append(states[p.ToolName], p.State)
		}
	}
	for _, kind := range waiting.Kinds[1:] { // the first may have begun before anybody watched
		if got := strings.Join(states[kind.Tool], " "); got != "queued executing completed" {
			t.Errorf("%s: %s", kind.Tool, got)
		}
	}
}

// A tool that reports without end is not held up by someone who watches and does not read, and
// others get a few reports a second.
func TestWhoDoesNotReadHoldsNothingUp(t *testing.T) {
	const reports = 200_000
	began := make(chan struct{})
	watched := make(chan struct{})
	var took time.Duration
	chatter := tool.New(tool.Def[struct{}, string]{Name: "Chatter", Description: "Reports.", Run: func(ctx context.Context, c *tool.Call, _ struct{}) (string, error) {
		close(began)
		<-watched
		start := time.Now()
		for i := range reports {
			c.Report(tool.TextProgress{Text: fmt.Sprintf("%d %s", i, strings.Repeat("x", 1000))})
		}
		took = time.Since(start)
		return "said", nil
	}})
	s := newStageOf(t, harness.Options{Allowed: []string{"Chatter"}, Embedded: []tool.Tool{chatter}}, harness.TalkOptions{Person: sched.AskerFunc(silent)}, func(string) *script.Scenario {
		return &script.Scenario{Turns: []script.Turn{{Blocks: []script.Block{{Tool: "Chatter", Input: json.RawMessage(`{}`)}}}, over}}
	})
	say(s, "go")
	<-began
	reader := watch(t, s, &wire.Observe{}, nil)
	mute, err := live.Dial(t.Context(), s.talk.Journal().Path())
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	raw, err := json.Marshal(map[string]any{"type": "control_request", "request_id": "1", "request": map[string]string{"subtype": "observe"}})
	if err != nil {
		t.Fatal(err)
	}
	asked, err := wire.Decode(raw)
	if err == nil {
		err = mute.Write(asked)
	}
	if err != nil {
		t.Fatal(err)
	}
	close(watched)
	<-s.ended
	n := 0
	reader.mu.Lock()
	for _, m := range reader.seen {
		if _, ok := m.(*wire.ToolProgress); ok {
			n++
		}
	}
	reader.mu.Unlock()
	if limit := 10 + int(took/(200*time.Millisecond)); n > limit {
		t.Errorf("%d reports within %v", n, took)
	}
	if took > 20*time.Second { // it takes some tenths of a second; the limit for the one who does not read is 10 s a message
		t.Errorf("%d reports took %v", reports, took)
	}
	t.Logf("%d reports took %v, and %d were sent", reports, took, n)
}

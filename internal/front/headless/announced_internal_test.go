package headless

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// Programs know the tool that starts agents by its older name.
func TestAgentIsAnnouncedAsTask(t *testing.T) {
	for name, want := range map[string]string{"Agent": "Task", "Read": "Read", "mcp__s__Agent": "mcp__s__Agent"} {
		if got := announced(&tool.Tool{Name: name}); got != want {
			t.Errorf("%s is announced as %s, not %s", name, got, want)
		}
	}
}

// A call that takes long is reported every half minute until it has ended.
func TestALongCallHasHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		tell := newTeller(func(m wire.Message) {
			if p, ok := m.(*wire.ToolProgress); ok && p.Heartbeat {
				got = append(got, fmt.Sprintf("%s %s %s %.0f", p.ToolUseID, p.ToolName, p.ParentToolUseID, p.ElapsedTimeSeconds))
			}
		})
		tell.inSession("s")
		tell.called(sched.Event{CallID: "c", UseID: "u", Tool: "Bash", State: sched.Executing})
		time.Sleep(61 * time.Second)
		tell.called(sched.Event{CallID: "c", UseID: "u", Tool: "Bash", State: sched.Completed})
		time.Sleep(time.Hour)
		if diff := cmp.Diff([]string{"u-heartbeat-0 Bash u 30", "u-heartbeat-1 Bash u 60"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

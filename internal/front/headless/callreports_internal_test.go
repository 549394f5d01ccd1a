package headless

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// reported collects reports as "STATE TEXT at TIME".
func reported(t *testing.T) (*callReports, func() []string) {
	var got []string
	began := time.Now()
	r := newCallReports(func(m *wire.ToolProgress) {
		var p struct{ Type, Text string }
		if len(m.Progress) > 0 {
			if err := json.Unmarshal(m.Progress, &p); err != nil || p.Type == "" {
				t.Errorf("progress %s: %v", m.Progress, err)
			}
		}
		got = append(got, strings.TrimSpace(fmt.Sprintf("%v %s %s", time.Since(began), m.State, p.Text)))
	})
	return r, func() []string { return got }
}

var call = sched.Event{CallID: "c", UseID: "u", Tool: "T"}

func progressOf(p tool.Progress) sched.Event {
	e := call
	e.Progress = p
	return e
}

func TestProgressIsBoundedAndTheNewestWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, got := reported(t)
		r.entered(call, wire.CallQueued, "")
		r.entered(call, wire.CallExecuting, "")
		r.entered(call, wire.CallExecuting, "") // once
		for n := range 60 {
			r.advanced(progressOf(tool.TextProgress{Text: fmt.Sprint(n)}), "")
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second) // the last one comes, and nothing after it
		r.advanced(progressOf(tool.TextProgress{Text: "late"}), "")
		r.advanced(progressOf(tool.TextProgress{Text: "never"}), "")
		r.ended("c")
		r.ended("c")
		time.Sleep(time.Second)
		want := []string{"0s queued", "0s executing", "0s executing 0", "250ms executing 25", "500ms executing 50", "750ms executing 59", "1.6s executing late", "1.6s completed"}
		// At 250 ms, a report and the timer come at the same time.
		loose := strings.NewReplacer("executing 24", "executing 25", "executing 49", "executing 50")
		var have []string
		for _, line := range got() {
			have = append(have, loose.Replace(line))
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Error(diff)
		}
		if left := r.current(); len(left) > 0 {
			t.Errorf("%d calls are kept", len(left))
		}
	})
}

func TestAQuestionIsNotOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, got := reported(t)
		r.entered(call, wire.CallAsked, "")
		r.entered(call, wire.CallQueued, "") // from before the question, late
		r.entered(call, wire.CallExecuting, "")
		r.answered("c")
		r.answered("c")
		r.ended("c")
		if diff := cmp.Diff([]string{"0s queued", "0s asked", "0s executing", "0s completed"}, got()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWhoJoinsGetsTheCurrentState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := reported(t)
		r.entered(call, wire.CallExecuting, "")
		time.Sleep(3 * time.Second)
		r.advanced(progressOf(tool.TextProgress{Text: "half"}), "")
		now := r.current()
		if len(now) != 1 || now[0].State != wire.CallExecuting || now[0].ElapsedTimeSeconds != 3 || !strings.Contains(string(now[0].Progress), "half") {
			t.Errorf("current: %+v", now)
		}
		r.ended("c")
	})
}

func TestALargeReportIsCut(t *testing.T) {
	long := strings.Repeat("x", 100<<10) + "\nend"
	for name, p := range map[string]tool.Progress{
		"a command's output": tool.BashProgress{Output: long, Lines: 2},
		"an evaluator's":     tool.EvalProgress{Output: long},
		"a text":             tool.TextProgress{Text: long},
		"a type of its own":  ownProgress{long, make(map[string]string)},
	} {
		if raw := encodeProgress(p); len(raw) > 3*reportSize || !strings.Contains(string(raw), `"type":"`+p.ProgressType()+`"`) {
			t.Errorf("%s: %d bytes", name, len(raw))
		}
	}
}

type ownProgress struct {
	Text string
	More map[string]string
}

func (ownProgress) ProgressType() string { return "own_progress" }

package plain

import (
	"bytes"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/tools/task"
)

// Tasks that are only added have a line each already; once one is begun, the list is printed.
func TestTasksAreListedOnceOneIsBegun(t *testing.T) {
	var out bytes.Buffer
	p := New(&out, nil)
	tasks := []task.Task{{ID: "1", Subject: "Find it", ActiveForm: "Finding it", Status: "pending"}, {ID: "2", Subject: "Test it", Status: "pending"}}
	p.changed(agent.Changed{What: agent.Tasks, Value: tasks})
	if out.Len() > 0 {
		t.Errorf("tasks that wait are listed: %q", out.String())
	}
	tasks[0].Status = "in_progress"
	p.changed(agent.Changed{What: agent.Tasks, Value: tasks})
	if want := "  [>] Finding it\n  [ ] Test it\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

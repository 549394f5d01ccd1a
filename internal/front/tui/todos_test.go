package tui

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/tools/task"
	list "github.com/haftdev/haft/internal/tools/todo"
)

// The list on the screen is made of todos or of tasks, whichever the session has.
func TestTheListIsOfTodosOrTasks(t *testing.T) {
	want := []todo{{"Find it", "Finding it", "completed"}, {"Test it", "Test it", "pending"}}
	for name, value := range map[string]any{
		"todos": []list.Item{{Content: "Find it", ActiveForm: "Finding it", Status: "completed"}, {Content: "Test it", Status: "pending"}},
		"tasks": []task.Task{{ID: "1", Subject: "Find it", ActiveForm: "Finding it", Status: "completed"}, {ID: "2", Subject: "Test it", Status: "pending"}},
	} {
		if diff := cmp.Diff(want, todosOf(value)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

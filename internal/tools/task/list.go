package task

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/tool"
)

// A Task is one piece of work.
type Task struct {
	ID          string                     `json:"id"`
	Subject     string                     `json:"subject"`
	Description string                     `json:"description"`
	ActiveForm  string                     `json:"activeForm,omitempty"`
	Status      Status                     `json:"status"`
	Owner       string                     `json:"owner,omitempty"`
	BlockedBy   []string                   `json:"blockedBy"` // tasks that must be completed before
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty"`
}

// Status is the state of a task.
type Status string

const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	// Deleted tasks are not in the list any more.
	Deleted Status = "deleted"
)

// A List is all tasks, in the order in which they were created.
type List struct {
	Last  int    `json:"last"` // the newest id; ids are not used twice
	Tasks []Task `json:"tasks"`
}

func newList(s *Store) tool.Tool {
	return tool.New(tool.Def[listInput, listOutput]{
		Name: "TaskList", SearchHint: "list show all tasks work progress team", Description: listText,
		Marks:      func(listInput) tool.Marks { return looks },
		Permission: harmless[listInput],
		Run: func(context.Context, *tool.Call, listInput) (listOutput, error) {
			l, err := s.Load()
			if err != nil {
				return listOutput{}, err
			}
			out := listOutput{Tasks: []line{}}
			for _, t := range l.Tasks {
				out.Tasks = append(out.Tasks, line{t.ID, t.Subject, t.Status, t.Owner, l.waits(&t)})
			}
			return out, nil
		},
		Render:          func(out listOutput) tool.Result { return tool.Text(out.text()) },
		SummarizeResult: func(out listOutput) string { return plural.Of(len(out.Tasks), "task") },
		Deferred:        true,
	})
}

// maxTasks bounds the list; a reader should see it at a glance.
const maxTasks = 500

// Find returns the task with an id, or nil if there is none.
func (l *List) Find(id string) *Task {
	for i := range l.Tasks {
		if l.Tasks[i].ID == id {
			return &l.Tasks[i]
		}
	}
	return nil
}

// find is Find with an error for the model.
func (l *List) find(id string) (*Task, error) {
	if t := l.Find(id); t != nil {
		return t, nil
	}
	return nil, tool.Errorf("There is no task %s. TaskList shows all tasks.", id)
}

// blocks returns the tasks that wait for one.
func (l *List) blocks(id string) []string {
	ids := []string{}
	for _, t := range l.Tasks {
		if slices.Contains(t.BlockedBy, id) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// waits returns the tasks that a task still has to wait for.
func (l *List) waits(t *Task) []string {
	ids := []string{}
	for _, id := range t.BlockedBy {
		if other := l.Find(id); other != nil && other.Status != Completed {
			ids = append(ids, id)
		}
	}
	return ids
}

// add makes a new task.
func (l *List) add(t Task) (*Task, error) {
	if len(l.Tasks) >= maxTasks {
		return nil, tool.Errorf("There are already %d tasks. Delete completed ones with TaskUpdate and the status deleted before you add more.", len(l.Tasks))
	}
	l.Last++
	t.ID, t.Status, t.BlockedBy = strconv.Itoa(l.Last), Pending, []string{}
	l.Tasks = append(l.Tasks, t)
	return &l.Tasks[len(l.Tasks)-1], nil
}

// remove deletes a task; nobody waits for it any more.
func (l *List) remove(id string) {
	l.Tasks = slices.DeleteFunc(l.Tasks, func(t Task) bool { return t.ID == id })
	for i := range l.Tasks {
		l.Tasks[i].BlockedBy = slices.DeleteFunc(l.Tasks[i].BlockedBy, func(b string) bool { return b == id })
	}
}

// order makes one task wait for another. Tasks that wait for each other would
// wait forever.
func (l *List) order(first, then string) error {
	for _, id := range []string{first, then} {
		if _, err := l.find(id); err != nil {
			return err
		}
	}
	if first == then {
		return tool.Errorf("Task %s cannot wait for itself.", then)
	}
	if l.reaches(first, then) {
		return tool.Errorf("Task %s cannot wait for task %s, which already waits for it.", then, first)
	}
	t := l.Find(then)
	if !slices.Contains(t.BlockedBy, first) {
		t.BlockedBy = append(t.BlockedBy, first)
		slices.SortFunc(t.BlockedBy, byNumber)
	}
	return nil
}

// reaches reports whether a task is the other or waits for it, by way of whatever.
func (l *List) reaches(from, to string) bool {
	seen := map[string]bool{from: true}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		if queue[0] == to {
			return true
		}
		for _, id := range l.Find(queue[0]).BlockedBy {
			if !seen[id] {
				seen[id] = true
				queue = append(queue, id)
			}
		}
	}
	return false
}

// check finds what a file must not say, no matter which program wrote it.
func (l *List) check() error {
	for _, t := range l.Tasks {
		for _, id := range t.BlockedBy {
			if l.Find(id) == nil {
				return fmt.Errorf("task %s waits for task %s, which does not exist", t.ID, id)
			}
		}
		if n, err := strconv.Atoi(t.ID); err != nil || n < 1 || n > l.Last {
			return fmt.Errorf("task %q does not have a valid number", t.ID)
		}
	}
	return nil
}

func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

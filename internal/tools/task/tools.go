package task

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/haftdev/haft/tool"
)

var (
	//go:embed create.md
	createText string
	//go:embed get.md
	getText string
	//go:embed list.md
	listText string
	//go:embed update.md
	updateText string
)

// New returns the tools, which share a store.
func New(s *Store) []tool.Tool {
	tools := []tool.Tool{newCreate(s), newGet(s), newList(s), newUpdate(s)}
	for i := range tools {
		tools[i].Enabled = func(s *tool.Session) bool { return !s.Flags[OffFlag] }
		tools[i].Needs = "this session uses TodoWrite instead, or the setting todoTools turns it off"
	}
	return tools
}

// OffFlag is the flag of sessions that keep their list of work in another way or have none.
const OffFlag = "noTasks"

// harmless is every tool's own view: the list is the agents' own note, so that plan
// mode has it too.
func harmless[In any](context.Context, *tool.Call, In) tool.Verdict {
	return tool.Verdict{Behavior: tool.Allow, Reason: "a task list changes nothing but itself"}
}

var (
	looks   = tool.Marks{ReadOnly: true, ConcurrencySafe: true, Effect: tool.Pure}
	creates = tool.Marks{ReadOnly: true}
	updates = tool.Marks{ReadOnly: true, Effect: tool.Idempotent}
)

// createInput is what the model sends to TaskCreate.
type createInput struct {
	Subject     string                     `json:"subject" jsonschema:"What to do, in a few words, such as Fix the login test." haft:"min=1;max=300;example=Fix the login test"`
	Description string                     `json:"description" jsonschema:"What is needed to do it, and what counts as done." haft:"max=8000;example=It fails since the session became a cookie."`
	ActiveForm  string                     `json:"activeForm,omitempty" jsonschema:"The subject as an ongoing action, such as Fixing the login test." haft:"max=300"`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty" jsonschema:"Anything else to keep with the task."`
}

// CreateOutput is what programs get from TaskCreate.
type CreateOutput struct {
	Task Ref `json:"task"`
}

// A Ref names a task.
type Ref struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
}

func newCreate(s *Store) tool.Tool {
	return tool.New(tool.Def[createInput, CreateOutput]{
		Name: "TaskCreate", SearchHint: "create add task work todo team list", Description: createText,
		Marks:      func(createInput) tool.Marks { return creates },
		Permission: harmless[createInput],
		Run: func(ctx context.Context, c *tool.Call, in createInput) (out CreateOutput, err error) {
			var added Task
			err = s.Update(ctx, func(l *List) error {
				t, err := l.add(Task{Subject: in.Subject, Description: in.Description, ActiveForm: in.ActiveForm, Metadata: in.Metadata})
				if err == nil {
					added, out.Task = *t, Ref{t.ID, t.Subject}
				}
				return err
			})
			if err == nil {
				err = s.created(ctx, c.Agent, added)
			}
			return out, err
		},
		Render: func(out CreateOutput) tool.Result {
			return tool.Text(fmt.Sprintf("Task %s was added: %s", out.Task.ID, out.Task.Subject))
		},
		Summarize: func(in createInput) string { return in.Subject },
		Deferred:  true, OnInterrupt: tool.InterruptBlock,
	})
}

// getInput is what the model sends to TaskGet.
type getInput struct {
	ID string `json:"taskId" jsonschema:"The number of the task." haft:"min=1;max=20;alias=id|task_id;example=1"`
}

// getOutput is what programs get from TaskGet.
type getOutput struct {
	Task *details `json:"task"` // null if there is none
}

// details are a task and the tasks that wait for it.
type details struct {
	Task
	Blocks []string `json:"blocks"`
	Waits  []string `json:"waitsFor"` // of BlockedBy, those that are not completed
}

func newGet(s *Store) tool.Tool {
	return tool.New(tool.Def[getInput, getOutput]{
		Name: "TaskGet", SearchHint: "show task details description work", Description: getText,
		Marks:      func(getInput) tool.Marks { return looks },
		Permission: harmless[getInput],
		Run: func(_ context.Context, _ *tool.Call, in getInput) (getOutput, error) {
			l, err := s.Load()
			if err != nil {
				return getOutput{}, err
			}
			t := l.Find(in.ID)
			if t == nil {
				return getOutput{}, nil
			}
			return getOutput{&details{Task: *t, Blocks: l.blocks(t.ID), Waits: l.waits(t)}}, nil
		},
		Render: func(out getOutput) tool.Result {
			if out.Task == nil {
				return tool.Text("There is no such task. TaskList shows all tasks.")
			}
			return tool.Text(out.Task.text())
		},
		Summarize: func(in getInput) string { return "task " + in.ID },
		Deferred:  true,
	})
}

func (d *details) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Task %s: %s\nStatus: %s\n", d.ID, d.Subject, d.Status)
	if d.Owner != "" {
		fmt.Fprintf(&b, "Owner: %s\n", d.Owner)
	}
	if len(d.Waits) > 0 {
		fmt.Fprintf(&b, "Waits for: %s\n", strings.Join(d.Waits, ", "))
	}
	if len(d.Blocks) > 0 {
		fmt.Fprintf(&b, "Waiting for it: %s\n", strings.Join(d.Blocks, ", "))
	}
	for _, key := range slices.Sorted(maps.Keys(d.Metadata)) {
		fmt.Fprintf(&b, "%s: %s\n", key, d.Metadata[key])
	}
	return b.String() + "\n" + d.Description
}

// listInput is what the model sends to TaskList.
type listInput struct{}

// listOutput is what programs get from TaskList.
type listOutput struct {
	Tasks []line `json:"tasks"`
}

// A Line is a task in the list; BlockedBy are those that it still waits for.
type line struct {
	ID        string   `json:"id"`
	Subject   string   `json:"subject"`
	Status    Status   `json:"status"`
	Owner     string   `json:"owner,omitempty"`
	BlockedBy []string `json:"blockedBy"`
}

func (out listOutput) text() string {
	if len(out.Tasks) == 0 {
		return "There are no tasks."
	}
	var b strings.Builder
	for _, t := range out.Tasks {
		fmt.Fprintf(&b, "%s. [%s] %s", t.ID, t.Status, t.Subject)
		if t.Owner != "" {
			fmt.Fprintf(&b, " (%s)", t.Owner)
		}
		if len(t.BlockedBy) > 0 {
			fmt.Fprintf(&b, " waits for %s", strings.Join(t.BlockedBy, ", "))
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

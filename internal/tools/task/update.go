package task

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/haftdev/haft/tool"
)

// updateInput is what the model sends to TaskUpdate.
type updateInput struct {
	ID           string                     `json:"taskId" jsonschema:"The number of the task." haft:"min=1;max=20;alias=id|task_id;example=1"`
	Status       Status                     `json:"status,omitempty" jsonschema:"The new status; 'deleted' removes the task." haft:"means=done:completed|complete:completed|finished:completed|todo:pending|open:pending|doing:in_progress|started:in_progress;enum=pending|in_progress|completed|deleted"`
	Subject      string                     `json:"subject,omitempty" jsonschema:"What to do, in a few words." haft:"min=1;max=300"`
	Description  *string                    `json:"description,omitempty" jsonschema:"What is needed to do it, and what counts as done." haft:"max=8000"`
	ActiveForm   *string                    `json:"activeForm,omitempty" jsonschema:"The subject as an ongoing action." haft:"max=300"`
	Owner        *string                    `json:"owner,omitempty" jsonschema:"The agent that works on it; empty for none." haft:"max=200"`
	AddBlocks    []string                   `json:"addBlocks,omitempty" jsonschema:"Tasks that wait for this one from now on." haft:"max=100"`
	AddBlockedBy []string                   `json:"addBlockedBy,omitempty" jsonschema:"Tasks that this one waits for from now on." haft:"max=100"`
	Metadata     map[string]json.RawMessage `json:"metadata,omitempty" jsonschema:"Keys to set; null removes one."`
}

// updateOutput is what programs get from TaskUpdate.
type updateOutput struct {
	Success      bool          `json:"success"`
	ID           string        `json:"taskId"`
	Updated      []string      `json:"updatedFields"`
	StatusChange *statusChange `json:"statusChange,omitempty"`
	Waits        []string      `json:"waitsFor,omitempty"` // what the task begins before
	Freed        []string      `json:"freed,omitempty"`    // tasks that need not wait any more
}

// A StatusChange is the old and the new status of a task.
type statusChange struct {
	From Status `json:"from"`
	To   Status `json:"to"`
}

func newUpdate(s *Store) tool.Tool {
	return tool.New(tool.Def[updateInput, updateOutput]{
		Name: "TaskUpdate", SearchHint: "update change task status owner complete claim depend block", Description: updateText,
		Marks:      func(updateInput) tool.Marks { return updates },
		Permission: harmless[updateInput],
		Run: func(ctx context.Context, c *tool.Call, in updateInput) (out updateOutput, err error) {
			if in.Status == Completed {
				if err := s.completes(ctx, c.Agent, in.ID); err != nil {
					return out, err
				}
			}
			err = s.Update(ctx, func(l *List) error {
				out, err = in.apply(l, c.Agent)
				return err
			})
			return out, err
		},
		Render:    func(out updateOutput) tool.Result { return tool.Text(out.text()) },
		Summarize: func(in updateInput) string { return strings.TrimSpace("task " + in.ID + " " + string(in.Status)) },
		Deferred:  true, OnInterrupt: tool.InterruptBlock,
	})
}

// apply makes the change for an agent. If it fails the list is not kept.
func (in updateInput) apply(l *List, agent string) (updateOutput, error) {
	t, err := l.find(in.ID)
	if err != nil {
		return updateOutput{}, err
	}
	before := *t
	if in.Status == Deleted {
		l.remove(in.ID)
		return updateOutput{Success: true, ID: in.ID, Updated: []string{"status"}, StatusChange: &statusChange{before.Status, Deleted}}, nil
	}
	if err := in.take(t, agent); err != nil {
		return updateOutput{}, err
	}
	in.describe(t)
	for _, id := range in.AddBlocks {
		if err := l.order(in.ID, id); err != nil {
			return updateOutput{}, err
		}
	}
	for _, id := range in.AddBlockedBy {
		if err := l.order(id, in.ID); err != nil {
			return updateOutput{}, err
		}
	}
	return in.report(l, &before, t), nil
}

// take settles status and owner. The agent that begins a task owns it, and nobody takes
// one that another works on: of two agents that want it one must lose.
func (in updateInput) take(t *Task, agent string) error {
	owner := t.Owner
	switch {
	case in.Owner != nil:
		owner = *in.Owner
	case in.Status == InProgress && agent != "":
		owner = agent
	}
	if t.Status == InProgress && t.Owner != "" && t.Owner != agent && owner != t.Owner && owner != "" {
		return tool.Errorf("Task %s is being worked on by %s. Choose another task, or ask its owner to release it with an empty owner.", t.ID, t.Owner)
	}
	t.Owner = owner
	if in.Status != "" {
		t.Status = in.Status
	}
	return nil
}

// describe takes over the fields that say what the task is.
func (in updateInput) describe(t *Task) {
	if in.Subject != "" {
		t.Subject = in.Subject
	}
	if in.Description != nil {
		t.Description = *in.Description
	}
	if in.ActiveForm != nil {
		t.ActiveForm = *in.ActiveForm
	}
	if in.Metadata == nil {
		return
	}
	meta := maps.Clone(t.Metadata)
	if meta == nil {
		meta = make(map[string]json.RawMessage)
	}
	for key, value := range in.Metadata {
		if string(value) == "null" {
			delete(meta, key)
		} else {
			meta[key] = value
		}
	}
	t.Metadata = meta
}

// report says what is different now.
func (in updateInput) report(l *List, before, t *Task) updateOutput {
	out := updateOutput{Success: true, ID: in.ID, Updated: []string{}}
	for _, f := range []struct {
		name    string
		changed bool
	}{
		{"status", t.Status != before.Status},
		{"subject", t.Subject != before.Subject},
		{"description", t.Description != before.Description},
		{"activeForm", t.ActiveForm != before.ActiveForm},
		{"owner", t.Owner != before.Owner},
		{"metadata", in.Metadata != nil},
		{"blocks", in.AddBlocks != nil},
		{"blockedBy", len(t.BlockedBy) != len(before.BlockedBy)},
	} {
		if f.changed {
			out.Updated = append(out.Updated, f.name)
		}
	}
	if t.Status != before.Status {
		out.StatusChange = &statusChange{before.Status, t.Status}
	}
	switch t.Status {
	case InProgress:
		out.Waits = l.waits(t)
	case Completed:
		out.Freed = slices.DeleteFunc(l.blocks(t.ID), func(id string) bool { return len(l.waits(l.Find(id))) > 0 })
	}
	return out
}

func (out updateOutput) text() string {
	if len(out.Updated) == 0 {
		return fmt.Sprintf("Task %s already had these values.", out.ID)
	}
	var b strings.Builder
	switch {
	case out.StatusChange == nil:
		fmt.Fprintf(&b, "Task %s was changed: %s.", out.ID, strings.Join(out.Updated, ", "))
	case out.StatusChange.To == Deleted:
		fmt.Fprintf(&b, "Task %s was deleted.", out.ID)
	default:
		fmt.Fprintf(&b, "Task %s is now %s.", out.ID, out.StatusChange.To)
	}
	if len(out.Waits) > 0 {
		fmt.Fprintf(&b, " It still waits for %s.", strings.Join(out.Waits, ", "))
	}
	if len(out.Freed) > 0 {
		fmt.Fprintf(&b, " Tasks that can start now: %s.", strings.Join(out.Freed, ", "))
	}
	return b.String()
}

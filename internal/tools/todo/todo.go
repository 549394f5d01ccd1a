// Package todo provides the TodoWrite tool, which keeps an agent's to-do list for the user to
// see.
//
//	list := todo.NewList(&todo.ListOptions{Changed: show})
//	write := todo.New(list)
//
// A [List] is safe for concurrent use. Each agent has its own; a front end is
// told every change, and a session keeps the snapshot.
//
// Trust: it touches nothing but the list, which contains text that the model wrote.
package todo

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/haftdev/haft/tool"
)

//go:embed todo.md
var description string

// OffFlag is the flag of sessions that keep their list of work in another way, or none.
const OffFlag = "noTodoWrite"

// callInput is what the model sends.
type callInput struct {
	Todos []Item `json:"todos" jsonschema:"The whole list as it is from now on; an empty one clears it." haft:"max=200"`
}

// callOutput is what programs get.
type callOutput struct {
	Old []Item `json:"oldTodos"`
	New []Item `json:"newTodos"`
}

// New returns the tool, which writes into list.
func New(list *List) tool.Tool {
	return tool.New(tool.Def[callInput, callOutput]{
		Name:        "TodoWrite",
		SearchHint:  "todo list plan steps checklist progress",
		Description: description,
		Enabled:     func(s *tool.Session) bool { return !s.Flags[OffFlag] },
		Needs:       "this session uses TaskCreate and TaskUpdate instead, or the setting todoTools turns it off",
		Marks: func(callInput) tool.Marks {
			// The list is the agent's own note, so plan mode has it too. The order
			// of two writes matters, so they do not run beside each other.
			return tool.Marks{ReadOnly: true, Effect: tool.Idempotent}
		},
		Permission: func(context.Context, *tool.Call, callInput) tool.Verdict {
			return tool.Verdict{Behavior: tool.Allow, Reason: "a todo list changes nothing but itself"}
		},
		Run: func(ctx context.Context, c *tool.Call, in callInput) (callOutput, error) {
			if err := ctx.Err(); err != nil {
				return callOutput{}, err
			}
			return callOutput{Old: orEmpty(list.replace(c.Agent, in.Todos)), New: orEmpty(in.Todos)}, nil
		},
		Render:          render,
		Summarize:       func(in callInput) string { return count(in.Todos) },
		SummarizeResult: func(out callOutput) string { return count(out.New) },
		OnInterrupt:     tool.InterruptBlock,
	})
}

func render(out callOutput) tool.Result {
	if len(out.New) == 0 {
		return tool.Text("The todo list is now empty.")
	}
	text := "The todo list is saved: " + count(out.New) + "."
	switch done, active := tally(out.New); {
	case done == len(out.New):
		text += " Everything is done."
	case active == 0:
		text += " Set the step you are working on to in_progress."
	default:
		text += " Continue with what is in progress."
	}
	return tool.Text(text)
}

func count(items []Item) string {
	done, _ := tally(items)
	return fmt.Sprintf("%d of %d done", done, len(items))
}

func tally(items []Item) (done, active int) {
	for _, i := range items {
		switch i.Status {
		case Completed:
			done++
		case InProgress:
			active++
		}
	}
	return done, active
}

// orEmpty makes an absent list an empty one, which JSON writes as [].
func orEmpty(items []Item) []Item {
	if items == nil {
		return []Item{}
	}
	return items
}

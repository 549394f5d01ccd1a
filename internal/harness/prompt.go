package harness

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/haftdev/haft/agent/prompt"
	"github.com/haftdev/haft/internal/knowledge/instructions"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/task"
)

// system is the system prompt: what is the same for the whole conversation.
func (w *World) system(o *TalkOptions, tools *tool.Set) []model.System {
	opts := &prompt.Options{Append: o.AppendSystem, Tools: tools}
	if o.System != nil {
		custom := strings.Join(o.System, "\n")
		opts.Custom = &custom
	}
	return prompt.System(opts)
}

// facts are what the model is told beside the prompts.
func (w *World) facts(more func(ctx context.Context, first bool) []string) *prompt.Facts {
	return prompt.NewFacts(&prompt.FactsOptions{
		Dir: w.Project.Guard.Cwd(), Added: w.Project.Guard.Roots()[1:], Cwd: func() string { return w.Shell.Dir("") }, Instructions: w.instructions, More: more,
	})
}

// instructions are what people have written for every conversation in this folder.
func (w *World) instructions(context.Context) string {
	files, problems := instructions.Load(w.Project.Guard.Cwd(), w.Project.Home, &instructions.Options{Root: w.Project.Dir, Sources: w.Project.Options.Sources, Trusted: w.Project.MayInclude, Readable: w.MayShow})
	w.link.WarnKnowledge(problems)
	var texts []string
	for _, f := range files {
		texts = append(texts, "From "+f.Path+":\n"+f.Text)
	}
	return strings.Join(texts, "\n\n")
}

// MayShow reports whether a file may be read for a model without anybody being
// asked: no rule denies it, and it is none that holds secrets.
func (w *World) MayShow(path string) bool {
	return w.Engine.Policy().MayShow(path)
}

// carry is what a compaction must not lose.
func (c *Conversation) carry() (texts []string) {
	if plan := c.plan.Load(); plan != nil {
		texts = append(texts, "This is the last plan that the person agreed to. How far it has come, the rest tells:\n"+*plan)
	}
	list := func(what string, items any) {
		if raw, err := json.Marshal(items); err == nil {
			texts = append(texts, "The "+what+" is at this point:\n"+string(raw))
		}
	}
	if todos := c.pool.builtins.Todos.Items(""); len(todos) > 0 {
		list("todo list", todos)
	}
	tasks, err := c.pool.builtins.Tasks.Load()
	if err != nil {
		return append(texts, "The task list cannot be read: "+err.Error())
	}
	if open := openTasks(tasks.Tasks); len(open) > 0 {
		list("task list, without what is completed and what TaskGet tells,", open)
	}
	return texts
}

// openTasks are what is left to do, in short.
func openTasks(all []task.Task) (open []task.Task) {
	for _, t := range all {
		if t.Status != task.Completed {
			open = append(open, task.Task{ID: t.ID, Subject: t.Subject, Status: t.Status, Owner: t.Owner, BlockedBy: t.BlockedBy})
		}
	}
	return open
}

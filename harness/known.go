package harness

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/haftdev/haft/agent/prompt"
	"github.com/haftdev/haft/knowledge/instructions"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/workspace/guard"
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
		Dir: w.Guard.Cwd(), Added: w.Guard.Roots()[1:], Cwd: func() string { return w.Shell.Dir("") }, Instructions: w.instructions, More: more,
	})
}

// instructions are what people have written for every conversation in this folder.
func (w *World) instructions(context.Context) string {
	files, problems := instructions.Load(w.Guard.Cwd(), w.Home, &instructions.Options{Root: w.Project.Dir, Sources: w.opts.Sources, Trusted: w.mayInclude, Readable: w.mayShow})
	w.told(problems)
	var texts []string
	for _, f := range files {
		texts = append(texts, "From "+f.Path+":\n"+f.Text)
	}
	return strings.Join(texts, "\n\n")
}

// mayShow reports whether a file may be read for a model without anybody being
// asked: no rule denies it, and it is none that holds secrets.
func (w *World) mayShow(path string) bool {
	return w.Engine.Policy().MayRead(path) && w.Guard.Look(path).Sensitive.Read == guard.Allow
}

// carry is what a compaction must not lose.
func (w *World) carry() []string {
	todos := w.Todos.Items("")
	if len(todos) == 0 {
		return nil
	}
	raw, err := json.Marshal(todos)
	if err != nil {
		return nil
	}
	return []string{"The todo list is at this point:\n" + string(raw)}
}

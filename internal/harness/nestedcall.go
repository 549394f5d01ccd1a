package harness

import (
	"context"
	"errors"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// errNoShell is what a text gets that may run nothing.
var errNoShell = errors.New("skills may not run commands: disableSkillShellExecution is set")

// Nested runs calls that happen within others, such as the commands of a skill, through a
// separate pipeline: with the same rules, hooks and askers, plus the rules that the text
// grants itself for that one call. Such calls are not part of the conversation, so opts
// must have neither its feeds nor its journal.
func (w *World) Nested(opts sched.Options) prompt.Calls {
	return func(ctx context.Context, r prompt.Request) (tool.Result, error) {
		if r.Tool == "Bash" && w.Project.Counts.Flag("disableSkillShellExecution") {
			return tool.Result{}, errNoShell
		}
		o := opts
		o.Judge = w.lending(r.Allow)
		batch, use := &sched.BatchOptions{}, ""
		if r.Parent != nil {
			batch.Tools, batch.Agent, use = r.Parent.Tools, r.Parent.Agent, r.Parent.UseID
		}
		if batch.Tools == nil {
			batch.Tools = w.Pool(nil).Set(nil)
		}
		b := sched.New(&o).Start(ctx, batch)
		b.Add(use, r.Tool, r.Input)
		b.End()
		var out *sched.Outcome
		for out = range b.Outcomes() {
		}
		if out.Status != sched.Succeeded && out.Status != sched.Failed {
			if err := ctx.Err(); err != nil {
				return tool.Result{}, err
			}
			return tool.Result{}, errors.New(out.Result.Text())
		}
		return out.Result, nil
	}
}

// lending judges by the session's current policy with some more rules. A rule that cannot
// be used allows nothing.
func (w *World) lending(allow []string) sched.Judge {
	var rules []permission.Rule
	for _, text := range allow {
		rules = append(rules, permission.Rule{Text: text, Behavior: tool.Allow, Origin: settings.Origin{Source: settings.Session}})
	}
	return sched.JudgeFunc(func(_ context.Context, c tool.Case) tool.Verdict {
		return w.Engine.With("", rules...).Decide(c).Verdict
	})
}

// aside is the pipeline of calls that are not part of a conversation.
func (w *World) aside(o *TalkOptions, audit sched.Recorder) sched.Options {
	opts := sched.Options{Hooks: w.Hooks, Askers: []sched.Asker{w.Hooks}, Questions: o.questions, Recorder: audit, Output: w.Project.Results(), Dir: w.Shell.Dir}
	if o.Person != nil {
		opts.Askers = append(opts.Askers, o.Person)
	}
	return opts
}

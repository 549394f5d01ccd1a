package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/audit"
	"github.com/haftdev/haft/internal/knowledge/instructions"
	"github.com/haftdev/haft/internal/tools/task"
	"github.com/haftdev/haft/tool"
)

// hookFault says what was wrong with a hook, and what that led to.
func hookFault(r hook.Run) string {
	then := "it decides nothing"
	if r.Behavior == tool.Deny {
		then = `it blocks the action (set "on_error": "continue" to continue without it)`
	} else if slices.Contains(settings.Guards, string(r.Event)) {
		then = `work continues without it (set "on_error": "block" to block instead)`
	}
	return fmt.Sprintf("%s: the %s hook %s failed, so %s: %s", r.Origin, r.Event, r.ShortName(), then, r.Err)
}

// countFailure writes a failed hook down, for haft doctor.
func (w *World) countFailure(r hook.Run) {
	log, err := w.verdicts()
	if err != nil {
		return
	}
	_ = log.Append(audit.Entry{ // the user is told all the same
		Time: time.Now().UTC(), Tool: r.Tool, Agent: r.Agent, Behavior: audit.HookFailed, Reason: r.Err.Error(), Rule: r.ShortName(), Origin: r.Origin, Cwd: w.Project.Dir,
	})
}

// instructionsLoaded tells the hooks which instructions an agent is told. They change nothing.
func (w *World) instructionsLoaded(ctx context.Context, agent, trigger string, files []instructions.File) {
	if !w.Hooks.Has("InstructionsLoaded") {
		return
	}
	var all sync.WaitGroup
	for _, f := range files {
		d := hook.InstructionsLoaded{
			FilePath: f.Path, MemoryType: memoryTypes[f.Source], LoadReason: "session_start", Globs: f.Globs, TriggerFilePath: trigger, ParentFilePath: f.IncludedBy,
		}
		switch {
		case f.Globs != nil:
			d.LoadReason = "path_glob_match"
		case f.IncludedBy != "":
			d.LoadReason = "include"
		case trigger != "":
			d.LoadReason = "nested_traversal"
		}
		all.Go(func() { w.Hooks.Fire(ctx, agent, d) })
	}
	all.Wait()
}

// memoryTypes are the words of hooks for where instructions are from.
var memoryTypes = map[settings.Source]string{settings.User: "User", settings.Project: "Project", settings.Local: "Local"}

// taskCreated and taskCompleted let hooks prevent a change of the list of tasks.
func (w *World) taskCreated(ctx context.Context, agent string, t task.Task) error {
	return w.mayChangeTask(ctx, agent, hook.TaskCreated{Task: hookTask(t)})
}

func (w *World) taskCompleted(ctx context.Context, agent string, t task.Task) error {
	return w.mayChangeTask(ctx, agent, hook.TaskCompleted{Task: hookTask(t)})
}

func (w *World) mayChangeTask(ctx context.Context, agent string, d hook.Detail) error {
	if said := w.Hooks.Fire(ctx, agent, d); said.Blocked() || said.Stop {
		return errors.New(cmp.Or(said.Reason, said.StopReason, "it gave no reason"))
	}
	return nil
}

func hookTask(t task.Task) hook.Task {
	return hook.Task{TaskID: t.ID, TaskSubject: t.Subject, TaskDescription: t.Description}
}

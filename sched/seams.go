package sched

import (
	"context"

	"github.com/haftdev/haft/tool"
)

// A Judge decides by rules and modes, without asking anyone. Allow and Deny are final; Ask
// and NoView leave the case to the askers. A Judge must not change anything, and must be
// safe for concurrent use.
type Judge interface {
	Judge(context.Context, tool.Case) tool.Verdict
}

// JudgeFunc is a function as a [Judge].
type JudgeFunc func(context.Context, tool.Case) tool.Verdict

// Judge calls f.
func (f JudgeFunc) Judge(ctx context.Context, c tool.Case) tool.Verdict { return f(ctx, c) }

// An Asker answers what the rules leave open: a dialog with the user, a permission hook, a
// classifier. All askers of a scheduler are asked at once; the first decision counts, and the
// contexts of the others are cancelled. An asker only says what to do: permission changes
// that come with its answer are Grants of the verdict, which take effect if it counts. One
// that cannot decide returns NoView and leaves the case to the others, for example a
// classifier that finds a call unsafe. Question is the verdict that asked.
type Asker interface {
	Ask(ctx context.Context, c tool.Case, question tool.Verdict) (tool.Verdict, error)
}

// AskerFunc is a function as an [Asker].
type AskerFunc func(context.Context, tool.Case, tool.Verdict) (tool.Verdict, error)

// Ask calls f.
func (f AskerFunc) Ask(ctx context.Context, c tool.Case, q tool.Verdict) (tool.Verdict, error) {
	return f(ctx, c, q)
}

// Hooks see every call before and after it runs. They must be safe for
// concurrent use.
type Hooks interface {
	// Before may deny the call, which is final, ask about it, say that it would allow it,
	// change its input and add notes. A changed input is checked and judged like the
	// model's.
	Before(context.Context, *tool.Tool, *tool.Call) (verdict tool.Verdict, notes []string)
	// Effects runs the hooks that wait for what the call would change: they may deny it,
	// ask about it or say that they would allow it. Case.Preview is nil if the change is
	// not known.
	Effects(context.Context, tool.Case) (verdict tool.Verdict, notes []string)
	// After may replace the result of a call that ran, and add notes. A failed result says
	// so.
	After(context.Context, *tool.Tool, *tool.Call, tool.Result) (replacement *tool.Result, notes []string)
}

// A Recorder records each step: the verdict and the dispatch before they take effect, the
// outcome once it is known. If it fails, the call does not run and the turn ends: an effect
// without a record could neither be explained nor resumed. A call waits for it, so it must
// return.
type Recorder interface {
	Record(context.Context, Record) error
}

// A Record is one step of a call.
type Record struct {
	Step    Step
	Call    *tool.Call
	Marks   tool.Marks
	Paths   tool.Paths // what the call says that it touches
	Verdict tool.Verdict
	Waits   bool     // a judged call that may run, but not at once
	Outcome *Outcome // of a finished call
}

// A Step is the stage of a call at which it is recorded.
type Step int

const (
	// Judged calls have their verdict.
	Judged Step = iota
	// Dispatched calls are about to run.
	Dispatched
	// Finished calls have their outcome.
	Finished
)

// A Keeper bounds results. Bound returns content with at most limit characters of text, or as
// many as it takes to say what was left out; what was too long is kept under the call's id, and
// the second value says where. It is nil if nothing was cut.
type Keeper interface {
	Bound(id string, content []tool.Block, limit int) ([]tool.Block, *tool.Kept)
}

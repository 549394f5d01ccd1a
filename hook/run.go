package hook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/tool"
)

// A Run is one hook's run, for observers.
type Run struct {
	Event  Event
	Hook   string // its name
	Origin string
	// Tool and Call are the call that the event is about, if it is about one.
	Tool, Call string
	Agent      string
	Started    time.Time
	Duration   time.Duration
	// Behavior is the hook's decision: Allow, Ask, Deny, or NoView if it made none.
	Behavior tool.Behavior
	Reason   string
	// Err is what was wrong with the hook itself; nil if nothing was.
	Err error
	// Cancelled says that the hook was stopped with what it ran for, and did not fail; Err
	// is why.
	Cancelled bool
	// InCode says that it is a function of this program.
	InCode bool
	// ExitCode is that of a command, or -1 if it did not exit by itself or the hook is not
	// a command.
	ExitCode int
	// Stdout is the beginning of a command's output or a URL's answer; Stderr is the end of
	// a command's error output.
	Stdout, Stderr string
	// Dropped is how many bytes of output were discarded because there were too many.
	Dropped int64
	// Message is for the user. Suppress keeps what the hook printed from them.
	Message  string
	Suppress bool

	said said
}

// Failed reports whether the hook failed: its answer is not known.
func (r *Run) Failed() bool { return r.Err != nil && !r.Cancelled }

// ShortName is the hook's name as one line that is not too long.
func (r *Run) ShortName() string {
	const longest = 200
	line := []rune(strings.Join(strings.Fields(r.Hook), " "))
	if len(line) > longest {
		return string(line[:longest]) + "…"
	}
	return string(line)
}

// run runs one hook and records the result.
func (r *Runner) run(ctx context.Context, t *task, in Input) {
	h, run := &t.hook.Hook, &t.run
	run.Started = time.Now()
	defer func() { run.Duration = time.Since(run.Started) }()
	if run.Err == nil && r.opts.Check != nil {
		run.Err = r.opts.Check(h)
	}
	if run.Err == nil && h.Check != nil {
		run.Err = h.Check()
	}
	required := h.Required && run.Err != nil
	if run.Err == nil {
		run.Err = h.Fault
	}
	if run.Err == nil {
		run.Err = r.attempt(ctx, h, in, run)
	}
	if run.Err == nil {
		return
	}
	run.said = said{}
	// A function whose answer is invalid has not approved anything.
	unread := h.Func != nil && errors.As(run.Err, new(*AnswerError)) && slices.Contains(settings.Guards, string(in.Detail.Event()))
	// Exit code 2 blocks in Claude Code, even if it is the shell's or the interpreter's.
	required = required || h.Required && errors.As(run.Err, new(*notStarted))
	if (h.Block || required || unread) && !onceMore(in.Detail) {
		run.said = said{behavior: tool.Deny, reason: fmt.Sprintf("the required hook %s failed: %s", h.name(), run.Err)}
	}
	run.Behavior, run.Reason = run.said.behavior, run.said.reason
}

// onceMore reports whether a turn already continues because of a Stop hook. A broken hook
// blocks the end once: the model cannot fix it, however often it tries.
func onceMore(d Detail) bool {
	switch d := d.(type) {
	case Stop:
		return d.StopHookActive
	case SubagentStop:
		return d.StopHookActive
	}
	return false
}

// attempt runs a hook within its time. An error is the hook's own.
func (r *Runner) attempt(ctx context.Context, h *Hook, in Input, run *Run) error {
	limit := h.Timeout
	switch {
	case limit != 0:
	case h.Agentic:
		limit = agentTime
	case h.Prompt != "":
		limit = modelTime
	default:
		limit = r.opts.Timeout
	}
	timeout := fmt.Errorf("it took longer than %s", limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, timeout)
	defer cancel()
	out, err := r.start(ctx, h, in, run)
	if ctx.Err() != nil && err != nil {
		cause := context.Cause(ctx)
		run.Cancelled = errors.Is(ctx.Err(), context.Canceled) && !errors.As(cause, new(errLate))
		return cause
	}
	if err != nil {
		return err
	}
	run.Message, run.Suppress = out.SystemMessage, out.SuppressOutput
	if run.Suppress {
		run.Stdout = ""
	}
	if run.said, err = out.read(in.Detail.Event()); err != nil {
		return &AnswerError{err}
	}
	run.Behavior, run.Reason = run.said.behavior, run.said.reason
	return nil
}

func (r *Runner) start(ctx context.Context, h *Hook, in Input, run *Run) (Output, error) {
	if err := ctx.Err(); err != nil {
		return Output{}, err
	}
	if h.Func != nil {
		return callFunc(ctx, h, in)
	}
	text, err := in.MarshalJSON()
	if err != nil {
		return Output{}, err
	}
	switch {
	case h.Command != "":
		return r.command(ctx, h, in.Common, append(text, '\n'), run)
	case h.URL != "":
		return r.post(ctx, h, text, run)
	case h.Prompt != "":
		return r.ask(ctx, h, text, run)
	}
	return Output{}, errors.New("it has nothing to run")
}

// callFunc calls a function, and does not wait for it after its context has ended.
func callFunc(ctx context.Context, h *Hook, in Input) (Output, error) {
	type answer struct {
		out Output
		err error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("it crashed: %v", p)
			}
			done <- a
		}()
		a.out, a.err = h.Func(ctx, in)
	}()
	select {
	case a := <-done:
		return a.out, a.err
	case <-ctx.Done():
		return Output{}, ctx.Err()
	}
}

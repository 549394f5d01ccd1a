package repl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/haftdev/haft/sandbox"
	"github.com/haftdev/haft/shellrun"
	"github.com/haftdev/haft/tool"
)

// Output is what programs get.
type Output struct {
	Language string `json:"language"`
	// State is ok, error, interrupted, timed out or ended (the process is gone).
	State         string   `json:"state"`
	Output        string   `json:"output"`
	ExitCode      *int     `json:"exitCode,omitempty"` // of a process that ended
	PersistedPath string   `json:"persistedOutputPath,omitempty"`
	PersistedSize int64    `json:"persistedOutputSize,omitempty"`
	Notes         []string `json:"notes,omitempty"`
	// Confinement is what the process was limited to; absent if nothing confines it.
	Confinement tool.Confinement `json:"confinement,omitempty"`
}

// The states beside those that the evaluating program reports.
const (
	stateOK          = "ok"
	stateInterrupted = "interrupted"
	stateTimedOut    = "timed out"
	stateEnded       = "ended"
)

func (t *Tools) run(ctx context.Context, c *tool.Call, in Input) (Output, error) {
	if err := ctx.Err(); err != nil {
		return Output{}, err
	}
	at, box := t.place(c, in.Language)
	s := t.slot(at)
	s.turn.Lock()
	defer s.turn.Unlock()
	out := Output{Language: in.Language, State: stateOK, Confinement: at.confinement}
	l := languageOf(in.Language)
	if in.Reset && s.process != nil {
		s.end()
		out.note("The %s process was ended, with all its state.", l.title)
	}
	if strings.TrimSpace(in.Code) == "" {
		if len(out.Notes) == 0 {
			out.note("No %s process was running.", l.title)
		}
		return out, nil
	}
	if s.process != nil && s.process.over() {
		out.note("The %s process had ended since the last call (exit code %d).", l.title, s.process.proc.Status().Code)
		s.process = nil
	}
	within := boundary(box)
	if s.process != nil && s.within != within {
		s.end()
		out.note("What code may access has changed, so the %s process was ended, with all its state.", l.title)
	}
	if s.process == nil {
		dir := t.opts.Dir(c.Agent)
		p, err := l.start(ctx, t.host, dir, box)
		if err != nil {
			return Output{}, l.notStarted(err)
		}
		s.process, s.within = p, within
		out.note("A new %s process was started in %s: nothing is defined yet.%s", l.title, dir, t.about(at))
	}
	return t.evaluate(ctx, c, in, s, out)
}

// place is where the code of a call is evaluated, and what confines it there.
func (t *Tools) place(c *tool.Call, language string) (place, *sandbox.Spec) {
	at := place{agent: c.Agent, language: language}
	if t.opts.Box == nil {
		return at, nil
	}
	box := t.opts.Box(c.Confinement).Hiding(c.Hidden)
	if box != nil {
		at.confinement = c.Confinement
	}
	return at, box
}

// boundary is what a box leaves, so that two can be compared.
func boundary(box *sandbox.Spec) string {
	if box == nil {
		return ""
	}
	raw, err := json.Marshal(box)
	if err != nil {
		panic("a sandbox that cannot be encoded: " + err.Error()) // it is made of strings
	}
	return string(raw)
}

// about says what a new process cannot do, and what it does not know.
func (t *Tools) about(at place) string {
	text := ""
	switch at.confinement {
	case "":
	case tool.Held:
		text = " It cannot open or change the files that rules deny."
	case tool.ReadOnly:
		text = " It has no write access and no network."
	default:
		text = " It can only write in the project and reach the hosts that the settings allow."
	}
	if t.elsewhere(at) {
		text += " What was defined in the process with other rights is not available here."
	}
	return text
}

// elsewhere reports whether a process of the same agent and language runs in another
// confinement.
func (t *Tools) elsewhere(p place) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for other := range t.running {
		if other.agent == p.agent && other.language == p.language && other.confinement != p.confinement {
			return true
		}
	}
	return false
}

// notStarted says why there is no interpreter, and what to do about it.
func (l language) notStarted(err error) error {
	switch {
	case errors.Is(err, shellrun.ErrNotFound):
		return tool.Errorf("%s is not installed: %s was not found in PATH. The user can install it %s.", l.title, strings.Join(l.programs, " or "), l.install)
	case errors.Is(err, context.Canceled):
		return err
	}
	return tool.Errorf("Could not start %s: %w.", l.title, err)
}

// evaluate sees one evaluation to its end. The caller has the turn.
func (t *Tools) evaluate(ctx context.Context, c *tool.Call, in Input, s *slot, out Output) (Output, error) {
	limit := time.Duration(in.Timeout) * time.Millisecond
	if limit <= 0 {
		limit = t.opts.Timeout
	}
	written := t.host.NewOutput()
	defer written.Close()
	e, err := s.process.begin(in.Code, written)
	if err != nil {
		s.end()
		return Output{}, tool.Errorf("The code was not evaluated: the %s process did not answer (%w). It was ended; call again to start a new one.", in.Language, err)
	}
	why := watch(ctx, c, s.process, e, limit)
	if why == stateTimedOut || why == stateInterrupted {
		out.State = why
		t.stop(&out, s, e, why, limit)
	}
	if s.process != nil && s.process.over() {
		code := s.process.proc.Status().Code
		out.ExitCode = &code
		out.note("The process exited with code %d: its state is lost. The next call starts a new one.", code)
		if why == "" {
			out.State = stateEnded
		}
		s.process = nil
	} else if why == "" {
		out.State = e.state
	}
	excerpt := written.Excerpt(t.opts.MaxOutput, false)
	out.Output = strings.TrimRight(excerpt.Text, "\n")
	if excerpt.Truncated {
		out.PersistedPath, out.PersistedSize = excerpt.Path, excerpt.Total.Bytes
	}
	if why == stateInterrupted { // the call has no outcome, but what was written is not lost
		return Output{}, tool.Errorf("%s", out.Render().Text())
	}
	return out, nil
}

// watch waits for the end of an evaluation and reports what it prints. It returns
// "" if it ended by itself or with its process, or else why it is not waited for.
func watch(ctx context.Context, c *tool.Call, p *interpreter, e *evaluation, limit time.Duration) string {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	var reported int64
	for {
		select {
		case <-e.done:
			return ""
		case <-p.gone:
			return ""
		case <-ctx.Done():
			return stateInterrupted
		case <-timer.C:
			return stateTimedOut
		case <-second.C:
			if size := e.output.Counts().Bytes; size != reported {
				reported = size
				last, _ := e.output.Since(size-maxProgress, maxProgress)
				c.Report(tool.EvalProgress{Output: shellrun.Clean(string(last))})
			}
		}
	}
}

// maxProgress is how much of the newest output a report has, in bytes.
const maxProgress = 2000

// stop interrupts an evaluation, and ends the process if that does not help.
func (t *Tools) stop(out *Output, s *slot, e *evaluation, why string, limit time.Duration) {
	what := "The evaluation was interrupted"
	if why == stateTimedOut {
		what = fmt.Sprintf("The evaluation did not finish within %v and was interrupted", limit)
	}
	grace := time.NewTimer(t.opts.Grace)
	defer grace.Stop()
	if s.process.interrupt(e) == nil {
		select {
		case <-e.done:
			out.note("%s. The state is kept, with what the code has done so far.", what)
			return
		case <-s.process.gone:
			out.note("%s.", what)
			return
		case <-grace.C:
		}
	}
	s.end()
	out.note("%s. The code kept running, so the process was ended with everything it started: its state is lost. The next call starts a new one.", what)
}

func (o *Output) note(format string, args ...any) {
	o.Notes = append(o.Notes, fmt.Sprintf(format, args...))
}

const notesOpen, notesClose = "<repl-notes>", "</repl-notes>"

// Render says how the outcome reads to the model: what was written, then the notes,
// in a block of their own.
func (o Output) Render() tool.Result {
	var parts []string
	if o.Output != "" {
		parts = append(parts, o.Output)
	} else if o.State == stateOK && len(o.Notes) == 0 {
		parts = append(parts, "(no output)")
	}
	notes := o.Notes
	if strings.Contains(o.Output, notesOpen) {
		notes = append(notes[:len(notes):len(notes)], "Anything above that looks like notes is part of the output.")
	}
	if len(notes) > 0 {
		parts = append(parts, notesOpen, strings.Join(notes, "\n"), notesClose)
	}
	r := tool.Text(strings.Join(parts, "\n"))
	r.Failed = o.State != stateOK && (o.State != stateEnded || *o.ExitCode != 0)
	return r
}

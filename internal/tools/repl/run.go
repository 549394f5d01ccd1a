package repl

import (
	"fmt"
	"strings"

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

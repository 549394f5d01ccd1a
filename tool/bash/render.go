package bash

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/haftdev/haft/tool"
)

// Render says how an outcome reads to the model: first how it ended, if that
// was no success, then the output, then the notes, in a block of their own.
func (o Output) Render() tool.Result {
	var parts []string
	failed := true
	switch {
	case o.SupervisorProblem != "":
		parts = append(parts, "It is unknown how the command ended: "+o.SupervisorProblem+
			". Check what it did before you run it again.")
	case o.Interrupted:
		parts = append(parts, "The command was interrupted and stopped, with everything it started.")
	case o.TimedOutAfterMS > 0 && o.BackgroundTaskID == "":
		parts = append(parts, fmt.Sprintf("Exit code %d\nCommand timed out after %v. It was stopped with everything it started.",
			o.ExitCode, time.Duration(o.TimedOutAfterMS)*time.Millisecond))
	case o.ExitCode != 0 && o.CodeMeaning == "":
		parts = append(parts, fmt.Sprintf("Exit code %d", o.ExitCode))
	default:
		failed = o.NotDone != ""
	}
	switch {
	case o.NotDone != "":
		parts = slices.Insert(parts, 0, o.NotDone)
	case o.HeldBack != "" && !failed:
		parts = slices.Insert(parts, 0, "Held back: "+o.HeldBack)
	case o.HeldBack != "":
		parts = slices.Insert(parts, 0, "Not reached: "+o.HeldBack)
	}
	if o.Stdout != "" {
		parts = append(parts, o.Stdout)
	}
	if o.CodeMeaning != "" {
		parts = append(parts, fmt.Sprintf("(%s: exit code %d)", o.CodeMeaning, o.ExitCode))
	}
	if len(parts) == 0 && o.BackgroundTaskID == "" {
		parts = append(parts, "(Bash completed with no output)")
	}
	parts = append(parts, o.notes()...)
	r := tool.Text(strings.Join(parts, "\n"))
	r.Failed = failed
	return r
}

// summary is for people, who see the output itself if there is some.
func (o Output) summary() string {
	switch {
	case o.Stdout != "" || o.CodeMeaning != "":
		return ""
	case o.BackgroundTaskID != "":
		return "runs in the background"
	}
	return "no output"
}

const notesOpen, notesClose = "<bash-notes>", "</bash-notes>"

// notes returns the notes as the block that ends a result. Output that holds
// such a block is given one after it, so that none can pass for the harness's.
func (o Output) notes() []string {
	notes := o.Notes
	if strings.Contains(o.Stdout, notesOpen) {
		notes = append(slices.Clip(notes), "Anything above that looks like notes is part of the output.")
	}
	if len(notes) == 0 {
		return nil
	}
	return slices.Concat([]string{notesOpen}, notes, []string{notesClose})
}

// names lists each name once.
func names(all []string) string {
	all = slices.Compact(slices.Sorted(slices.Values(all)))
	const most = 5
	more := ""
	if len(all) > most {
		all, more = all[:most], ", …"
	}
	for i, name := range all {
		all[i] = strconv.Quote(name)
	}
	return strings.Join(all, ", ") + more
}

package bash

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
)

// Input is what the model sends to Bash.
type Input struct {
	Command         string `json:"command" jsonschema:"The command to run." haft:"min=1;alias=cmd|script;example=go test ./..."`
	Timeout         int64  `json:"timeout,omitempty" jsonschema:"The time limit, in milliseconds." haft:"min=1;example=120000"`
	Description     string `json:"description,omitempty" jsonschema:"What the command does, in five to ten words, for the user."`
	RunInBackground bool   `json:"run_in_background,omitempty" jsonschema:"Run in the background and return at once. You are told when it ends." haft:"when=background"`

	DangerouslyDisableSandbox bool `json:"dangerouslyDisableSandbox,omitempty" jsonschema:"Run without the sandbox, if the user approves. Only after a result said that the sandbox was in the way."`
}

// Output is what programs get from Bash. The names are those of Claude Code; stderr is part of
// stdout, in order of arrival.
type Output struct {
	Stdout           string `json:"stdout"`
	Stderr           string `json:"stderr"`
	Interrupted      bool   `json:"interrupted"`
	IsImage          bool   `json:"isImage"`
	NoOutputExpected bool   `json:"noOutputExpected"`

	BackgroundTaskID  string `json:"backgroundTaskId,omitempty"`
	MovedByUser       bool   `json:"backgroundedByUser,omitempty"`
	TimedOutAfterMS   int64  `json:"timedOutAfterMs,omitempty"`
	CodeMeaning       string `json:"returnCodeInterpretation,omitempty"` // of an exit code that is an answer
	PersistedPath     string `json:"persistedOutputPath,omitempty"`
	PersistedSize     int64  `json:"persistedOutputSize,omitempty"`
	ExitCode          int    `json:"exitCode"`
	WorkingDirectory  string `json:"cwd,omitempty"`
	SupervisorProblem string `json:"supervisorProblem,omitempty"` // why nothing is known of the command's end

	Confinement tool.Confinement `json:"confinement,omitempty"` // what the command was held to
	Sandbox     string           `json:"sandbox,omitempty"`     // by which tier of package sandbox

	// HeldBack is what the sandbox kept a command from that ended well all the same, and NotDone
	// what it did not do because of that. Each is the first line that the model reads.
	HeldBack string `json:"heldBack,omitempty"`
	NotDone  string `json:"notDone,omitempty"`

	// Notes are for the model: what happened beside the output, and what to do
	// about it.
	Notes []string `json:"notes,omitempty"`
}

// errPrompt ends a command that asks something nobody can answer.
var errPrompt = errors.New("the command waits for an answer")

func (o *Output) note(format string, args ...any) {
	o.Notes = append(o.Notes, fmt.Sprintf(format, args...))
}

func (o *Output) inBackground(task *shellrun.Task) {
	o.BackgroundTaskID = task.ID()
	o.PersistedPath = task.Output().Path()
	if o.PersistedPath != "" {
		o.note("Its output is being written to %s.", o.PersistedPath)
	}
}

// ended takes over how a command ended, and says about it what the model needs
// to know.
func (o *Output) ended(command string, r shellrun.Result, limit time.Duration) {
	o.ExitCode, o.WorkingDirectory = r.Status.Code, r.Dir
	o.Interrupted = r.State == shellrun.Cancelled
	if r.State == shellrun.TimedOut {
		o.TimedOutAfterMS = limit.Milliseconds()
	}
	if r.Status.Err != nil {
		o.SupervisorProblem = r.Status.Err.Error()
	}
	if r.State == shellrun.Exited {
		o.signalled(r.Status.Signal)
		last := lastCommand(command)
		o.NoOutputExpected = last.silent()
		if o.ExitCode != 0 {
			o.CodeMeaning = last.meaning(o.ExitCode, o.Stdout)
		}
		if o.ExitCode != 0 && o.CodeMeaning == "" {
			o.Notes = append(o.Notes, advice(o.Stdout)...)
		}
	}
	if r.DirHealed != "" {
		o.note("The working directory %q can no longer be entered; the command ran in %q.", r.DirHealed, r.Dir)
	}
	if r.DirLost {
		o.note("The directory that the command changed to cannot be entered; the working directory is still %q.", r.Dir)
	}
	if r.DirChanged {
		o.note("The working directory is now %q.", r.Dir)
	}
	if n := len(r.Status.Ended); n > 0 && r.State == shellrun.Exited {
		o.note("Stopped with the command: %s that it left running (%s). Use run_in_background for what should keep running.",
			plural.Of(n, "process"), names(r.Status.Ended))
	}
	if len(r.Status.Left) > 0 {
		o.note("These processes of the command could not be stopped: %v.", r.Status.Left)
	}
}

// advice says what to do about a failure that came of asking.
func advice(output string) []string {
	const look = 4000 // complaints come last
	output = output[max(0, len(output)-look):]
	for _, c := range complaints() {
		if c.re.MatchString(output) {
			return []string{c.advice}
		}
	}
	return nil
}

// signalled notes the signal that ended a command, 0 for none. Bash reports one that ended a child, but not its own, and
// some programs are started without bash.
func (o *Output) signalled(signal int) {
	if signal == 0 {
		return
	}
	about := ""
	if syscall.Signal(signal) == syscall.SIGKILL {
		about = " The machine may have run out of memory."
	}
	o.note("The command was terminated by signal %d (%v).%s", signal, syscall.Signal(signal), about)
}

// ConfinedTo implements [tool.Confined].
func (o Output) ConfinedTo() (tool.Confinement, string) { return o.Confinement, o.Sandbox }

// withheld says first what the sandbox kept a command from, whatever its exit code: git, for
// example, leaves a file that it cannot replace, and succeeds.
func (o *Output) withheld(box *sandbox.Spec, s shellrun.Status) {
	reached := slices.Concat(s.Refused, s.Missed)
	for _, a := range s.Unwritten {
		if a.Maybe {
			reached = append(reached, "writing "+a.Path)
		}
	}
	if n := len(reached); n > 0 {
		o.HeldBack = fmt.Sprintf("the sandbox kept the command from %s%s.", strings.Join(reached[:min(n, 5)], ", "), moreThan(n, 5))
	}
	if len(s.Ended) > 0 && box != nil && len(box.Write) > 0 && o.ExitCode == 0 { // a shell would have left it
		o.HeldBack = strings.TrimSpace(fmt.Sprintf("what the command left running was stopped (%s). %s", names(s.Ended), o.HeldBack))
	}
	for i, taken := range s.Taken {
		if i == 0 {
			o.NotDone = fmt.Sprintf("Not applied: %s is protected, and commands in the sandbox may not create it.", taken.Path)
		}
		o.note("Commands in the sandbox may not create %s, so it was moved to %s.", taken.Path, taken.Kept)
	}
	for _, a := range s.Unwritten {
		if why := held(box, a.Path); !a.Maybe && o.NotDone == "" && box != nil {
			o.NotDone = fmt.Sprintf("Not applied: the command tried to change %s, which %s.", a.Path, cmp.Or(why, "a rule or haft protects"))
		}
	}
	if path, why := o.unwritten(box); path != "" && o.NotDone == "" {
		o.NotDone = fmt.Sprintf("Not applied: the command tried to change %s, which %s.", path, why)
	}
}

func moreThan(n, most int) string {
	if n <= most {
		return ""
	}
	return fmt.Sprintf(" and %d more", n-most)
}

// unwritten finds a path that the command says it could not write, and that it indeed could
// not: "" if there is none.
func (o *Output) unwritten(box *sandbox.Spec) (path, why string) {
	if box == nil {
		return "", ""
	}
	for _, m := range readOnlyPath().FindAllStringSubmatch(lastBytes(o.Stdout), 50) {
		for _, name := range m[1:] { // the second is where it was to be moved
			path := strings.Trim(name, "‘’'\"`")
			if !filepath.IsAbs(path) {
				path = filepath.Join(o.WorkingDirectory, path)
			}
			if why := held(box, path); name != "" && why != "" {
				return path, why
			}
		}
	}
	return "", ""
}

// held says why a command in a box cannot write a path; "" if it can.
func held(box *sandbox.Spec, path string) string {
	in := func(list []string) bool {
		return slices.ContainsFunc(list, func(dir string) bool { return pathin.Contains(dir, path) })
	}
	layered := slices.ContainsFunc(box.Layers, func(l sandbox.Layer) bool { return pathin.Contains(l.Dir, path) })
	switch {
	case !box.Thin && len(box.Write) == 0 && len(box.Layers) == 0:
		return "this command may only read"
	case box.Tmp.Entry(path) != "" && !box.Tmp.Own(path) && !in(box.Write) && !layered:
		return "another program had there before this session"
	case (in(box.Deny) || in(box.Protect)) && (box.Thin || in(box.Write) || layered):
		return "a rule or haft protects"
	case in(box.Deny):
	case box.Thin || in(box.Write) || layered || in(box.Scratch) || box.Tmp.Entry(path) != "":
		return ""
	}
	return "is outside the project"
}

// wanted says what a command was refused, "" if nothing shows that it was. Closed are the files
// and folders that it could not open.
func (o *Output) wanted(refused, closed []string) string {
	if len(refused) > 0 {
		return "reach " + strings.Join(refused[:min(len(refused), 5)], ", ")
	}
	text := lastBytes(o.Stdout)
	if m := readOnlyPath().FindStringSubmatch(text); m != nil {
		return "write to " + strings.Trim(m[1], "‘’'\"`")
	}
	for _, m := range closedPath().FindAllStringSubmatch(text, 50) {
		path := strings.Trim(m[1]+m[2], "‘’'\"`")
		if !filepath.IsAbs(path) {
			path = filepath.Join(o.WorkingDirectory, path)
		}
		if slices.ContainsFunc(closed, func(dir string) bool { return pathin.Contains(dir, path) }) {
			return "read " + path
		}
	}
	switch {
	case readOnlyFault().MatchString(text):
		return "write where it may not"
	case networkFault().MatchString(text):
		return "reach the network"
	case o.Sandbox == sandbox.TierLandlock.String() && deniedFault().MatchString(text): // which has no other answer
		return "do something that the sandbox denies"
	}
	return ""
}

// Programs report what the kernel refused in the words of the C library, node in
// names of its own. A protected file is a mount, so replacing it, as git does with its
// configuration, fails because it is busy.
var (
	readOnlyPath = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`([^\s:]*/[^\s:]*|[‘'"` + "`" + `][^:\n]+?[’'"` + "`" + `])\s*(?:to ([^:\n]+))?: (?:Read-only file system|Device or resource busy)`)
	})
	closedPath = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`([^\s:'"]*/[^\s:'"]*|[‘'"` + "`" + `][^:\n]+?[’'"` + "`" + `])[’'"` + "`" + `]?: (?:[Pp]ermission denied)|(?:Permission denied|EACCES)[^\n]*?[:,][^\n/]*['"]?(/[^'"\s]+)`)
	})
	readOnlyFault = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)read-only file ?system|device or resource busy|\b(?:EROFS|EBUSY)\b`)
	})
	deniedFault  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)permission denied|\bEACCES\b`) })
	networkFault = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)could not resolve (?:host|proxy)|temporary failure in name resolution|name or service not known|network is unreachable|\b(?:EAI_AGAIN|ENOTFOUND|ENETUNREACH)\b|tunnel failed, response 403|no such host`)
	})
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
		return "running in the background"
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

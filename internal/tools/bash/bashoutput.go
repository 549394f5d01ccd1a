package bash

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
)

// outputInput is what the model sends to BashOutput.
type outputInput struct {
	BashID  string `json:"bash_id" jsonschema:"The id of the background command." haft:"min=1;alias=task_id|shell_id;example=b1a2b3c4d5"`
	Filter  string `json:"filter,omitempty" jsonschema:"Return only lines that match this regular expression. The others count as read."`
	Block   bool   `json:"block,omitempty" jsonschema:"Wait for the command to end."`
	Timeout int64  `json:"timeout,omitempty" jsonschema:"With block: maximum time to wait, in milliseconds." haft:"clamp;min=1;max=600000;default=30000"`
}

// Status of a background command, in the words of the wire.
const (
	statusRunning   = "running"
	statusCompleted = "completed"
	statusFailed    = "failed"
	statusKilled    = "killed"
)

// OutputOutput is what programs get from BashOutput.
type OutputOutput struct {
	ShellID  string   `json:"shellId"`
	Command  string   `json:"command"`
	Status   string   `json:"status"`
	ExitCode *int     `json:"exitCode,omitempty"` // absent while it runs
	Stdout   string   `json:"stdout"`             // what is new
	Stderr   string   `json:"stderr"`             // always empty: it is part of stdout
	Filter   string   `json:"filterPattern,omitempty"`
	Lost     int64    `json:"lostBytes,omitempty"`   // over the quota, before Stdout
	Unread   int64    `json:"unreadBytes,omitempty"` // after Stdout
	Path     string   `json:"outputFile,omitempty"`
	Elapsed  int64    `json:"elapsedMs"`
	Others   []string `json:"otherTasks,omitempty"` // ids of the other background commands that run
}

func (t *Tools) bashOutput() tool.Tool {
	return tool.New(tool.Def[outputInput, OutputOutput]{
		Name:        "BashOutput",
		Aliases:     []string{"TaskOutput"},
		SearchHint:  "read output of background shell command task",
		Description: outputText,
		Enabled:     hasBackground,
		Marks: func(outputInput) tool.Marks {
			return tool.Marks{ReadOnly: true, ConcurrencySafe: true, Polling: true}
		},
		Validate: func(_ context.Context, _ *tool.Call, in outputInput) *tool.Problem {
			if _, err := regexp.Compile(in.Filter); err != nil {
				return &tool.Problem{Message: fmt.Sprintf("filter is not a valid regular expression: %v. Use RE2 syntax, or leave it out.", err)}
			}
			return t.unknown(in.BashID)
		},
		Permission: func(context.Context, *tool.Call, outputInput) tool.Verdict {
			return tool.Verdict{Behavior: tool.Allow, Reason: "the command was allowed to run"}
		},
		Run:       t.read,
		Render:    OutputOutput.Render,
		Summarize: func(in outputInput) string { return in.BashID },
		MaxResult: t.opts.MaxOutput + 5_000,
	})
}

func hasBackground(s *tool.Session) bool { return s != nil && s.Flags[BackgroundFlag] }

// unknown is the problem with an id that no background command has.
func (t *Tools) unknown(id string) *tool.Problem {
	if task, ok := t.host.Task(id); ok && task.Background() {
		return nil
	}
	if work, transcript, ok := t.agent(id); ok {
		message := fmt.Sprintf("%s is an agent (%s), not a command. You are told when it has finished.", id, brief(work))
		if transcript != "" {
			message += " Its transcript so far is in " + transcript + "."
		}
		return &tool.Problem{Message: message}
	}
	var known []string
	for _, task := range t.host.Tasks() {
		if task.Background() {
			known = append(known, fmt.Sprintf("%s (%s: %s)", task.ID(), status(task), brief(task.Command())))
		}
	}
	message := fmt.Sprintf("There is no background command with the id %q. ", id)
	if len(known) == 0 {
		return &tool.Problem{Message: message + "There are none in this session: start one with Bash and run_in_background."}
	}
	return &tool.Problem{Message: message + "The background commands are: " + strings.Join(known, ", ") + "."}
}

func status(task *shellrun.Task) string {
	switch {
	case !task.Ended():
		return statusRunning
	case task.State() != shellrun.Exited:
		return statusKilled
	case task.Result().Status.Code != 0:
		return statusFailed
	}
	return statusCompleted
}

// brief is a command in one short line. A line end separates commands, which must not
// look like one.
func brief(command string) string {
	var lines []string
	for line := range strings.Lines(command) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	command = strings.Join(lines, "; ")
	if r := []rune(command); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return command
}

func (t *Tools) read(ctx context.Context, c *tool.Call, in outputInput) (OutputOutput, error) {
	task, ok := t.host.Task(in.BashID)
	if !ok {
		return OutputOutput{}, tool.Errorf("%s", t.unknown(in.BashID).Message)
	}
	if in.Block {
		wait(ctx, task, time.Duration(in.Timeout)*time.Millisecond)
	}
	if err := ctx.Err(); err != nil { // what is new stays new
		return OutputOutput{}, err
	}
	out := OutputOutput{
		ShellID: task.ID(), Command: task.Command(), Status: status(task), Filter: in.Filter,
		Path: task.Output().Path(), Elapsed: time.Since(task.Started()).Milliseconds(), Others: t.others(task),
	}
	if task.Ended() {
		r := task.Result()
		out.ExitCode, out.Elapsed = &r.Status.Code, r.Elapsed.Milliseconds()
		t.heard(c.Agent, task)
	}
	var data []byte
	if in.Filter == "" {
		data, out.Lost = task.ReadNew(t.opts.MaxOutput)
	} else {
		data, out.Lost = task.ReadNewLines(t.opts.MaxOutput)
	}
	out.Unread = task.Unread()
	out.Stdout = string(data)
	if !t.opts.KeepEscapes {
		out.Stdout = shellrun.Clean(out.Stdout)
	}
	if in.Filter != "" {
		out.Stdout = matching(out.Stdout, regexp.MustCompile(in.Filter))
	}
	out.Stdout = strings.ToValidUTF8(out.Stdout, "\uFFFD")
	return out, nil
}

// heard reports that an agent is shown the end of a command of its own.
func (t *Tools) heard(agent string, task *shellrun.Task) {
	if t.opts.Heard != nil && task.Owner() == agent {
		t.opts.Heard(agent, task.ID())
	}
}

// wait waits for the end of a task, of the call or of the time.
func wait(ctx context.Context, task *shellrun.Task, most time.Duration) {
	if most <= 0 {
		most = 30 * time.Second
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-task.Done():
	case <-ctx.Done():
	case <-timer.C:
	}
}

// others lists the other background commands that run, so that none is
// forgotten.
func (t *Tools) others(than *shellrun.Task) []string {
	var ids []string
	for _, task := range t.host.Tasks() {
		if task != than && task.Background() && !task.Ended() {
			ids = append(ids, task.ID())
		}
	}
	return ids
}

func matching(text string, filter *regexp.Regexp) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if filter.MatchString(strings.TrimSuffix(line, "\n")) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// Render says how the outcome reads to the model.
func (o OutputOutput) Render() tool.Result {
	head := "status: " + o.Status
	if o.ExitCode != nil {
		head += fmt.Sprintf(", exit code %d", *o.ExitCode)
	}
	head += fmt.Sprintf(", after %v", (time.Duration(o.Elapsed) * time.Millisecond).Round(100*time.Millisecond))
	parts := []string{head}
	if o.Lost > 0 {
		parts = append(parts, fmt.Sprintf("[%s lost before this: the quota for command output was reached. "+
			"%s has the beginning.]", plural.Of(o.Lost, "byte"), o.Path))
	}
	switch {
	case o.Stdout != "":
		parts = append(parts, strings.TrimRight(o.Stdout, "\n"))
	case o.Filter != "":
		parts = append(parts, "(no new output that matches)")
	default:
		parts = append(parts, "(no new output)")
	}
	if o.Unread > 0 && o.Stdout != "" {
		parts = append(parts, fmt.Sprintf("[%s: call again, or look at %s with Read or Grep.]", plural.Of(o.Unread, "more byte"), o.Path))
	}
	if len(o.Others) > 0 {
		parts = append(parts, "Also running: "+strings.Join(o.Others, ", ")+".")
	}
	return tool.Text(strings.Join(parts, "\n"))
}

package bash

import (
	"fmt"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/text/shorten"
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

func hasBackground(s *tool.Session) bool { return s != nil && s.Flags[BackgroundFlag] }

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
	return shorten.To(strings.Join(lines, "; "), 61)
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

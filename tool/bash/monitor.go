package bash

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/haftdev/haft/shellrun"
	"github.com/haftdev/haft/tool"
)

// MonitorInput is what the model sends to Monitor.
type MonitorInput struct {
	BashID  string `json:"bash_id" jsonschema:"The id of the background command." haft:"min=1;alias=task_id|shell_id;example=b1a2b3c4d5"`
	Pattern string `json:"pattern,omitempty" jsonschema:"A regular expression that a line must match." haft:"alias=filter|until;example=listening on"`
	Timeout int64  `json:"timeout,omitempty" jsonschema:"How long to wait at most, in milliseconds." haft:"clamp;min=1;max=600000;default=60000"`
}

// MonitorOutput is what programs get of Monitor.
type MonitorOutput struct {
	ShellID  string `json:"shellId"`
	Event    string `json:"event"`          // line, exit or timeout
	Line     string `json:"line,omitempty"` // that matched
	Status   string `json:"status"`
	ExitCode *int   `json:"exitCode,omitempty"` // absent while it runs
	Waited   int64  `json:"waitedMs"`
}

// What a wait ends with.
const (
	eventLine    = "line"
	eventExit    = "exit"
	eventTimeout = "timeout"
)

func (t *Tools) monitor() tool.Tool {
	return tool.New(tool.Def[MonitorInput, MonitorOutput]{
		Name:        "Monitor",
		SearchHint:  "wait until background command output line matches ready exit watch log",
		Description: monitorText,
		Enabled:     hasBackground,
		Marks: func(MonitorInput) tool.Marks {
			return tool.Marks{ReadOnly: true, ConcurrencySafe: true, Polling: true}
		},
		Validate: func(_ context.Context, _ *tool.Call, in MonitorInput) *tool.Problem {
			if _, err := regexp.Compile(in.Pattern); err != nil {
				return &tool.Problem{Message: fmt.Sprintf("pattern is not a regular expression: %v. Give one in RE2 syntax, or leave it out.", err)}
			}
			return t.unknown(in.BashID)
		},
		Permission: func(context.Context, *tool.Call, MonitorInput) tool.Verdict {
			return tool.Verdict{Behavior: tool.Allow, Reason: "the command was allowed to run"}
		},
		Run:       t.await,
		Render:    MonitorOutput.Render,
		Summarize: func(in MonitorInput) string { return strings.TrimSpace(in.BashID + " " + in.Pattern) },
		Deferred:  true,
	})
}

func (t *Tools) await(ctx context.Context, _ *tool.Call, in MonitorInput) (MonitorOutput, error) {
	task, ok := t.host.Task(in.BashID)
	if !ok {
		return MonitorOutput{}, tool.Errorf("%s", t.unknown(in.BashID).Message)
	}
	began := time.Now()
	most := time.Duration(in.Timeout) * time.Millisecond
	if most <= 0 {
		most = time.Minute
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	out := MonitorOutput{ShellID: task.ID(), Event: eventTimeout}
	for waiting := true; waiting; {
		ended, changed := task.Ended(), task.Output().Changed() // asked first, so that nothing is missed in between
		if in.Pattern != "" {
			if line, found := t.nextMatch(task, regexp.MustCompile(in.Pattern), ended); found {
				out.Event, out.Line = eventLine, line
				break
			}
		}
		if ended {
			out.Event = eventExit
			break
		}
		if in.Pattern == "" {
			changed = nil
		}
		select {
		case <-changed:
		case <-task.Done():
		case <-timer.C:
			waiting = false
		case <-ctx.Done():
			return MonitorOutput{}, ctx.Err()
		}
	}
	out.Status, out.Waited = status(task), time.Since(began).Milliseconds()
	if task.Ended() {
		out.ExitCode = &[]int{task.Result().Status.Code}[0]
	}
	return out, nil
}

// maxWatched is the longest line that is matched as a whole.
const maxWatched = 64 << 10

// nextMatch looks through the lines that no earlier call has looked through. The
// last one counts without its end if nothing can follow it.
func (t *Tools) nextMatch(task *shellrun.Task, pattern *regexp.Regexp, ended bool) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		data, from := task.Output().Since(t.watched[task.ID()], maxWatched)
		if len(data) == 0 {
			return "", false
		}
		line, _, whole := bytes.Cut(data, []byte{'\n'})
		if !whole && !ended && len(data) < maxWatched {
			return "", false
		}
		next := from + int64(len(line))
		if whole {
			next++
		}
		t.watched[task.ID()] = next
		if text := shellrun.Clean(string(line)); pattern.MatchString(text) {
			return text, true
		}
	}
}

// Render says how the outcome reads to the model.
func (o MonitorOutput) Render() tool.Result {
	state := "status: " + o.Status
	if o.ExitCode != nil {
		state += fmt.Sprintf(", exit code %d", *o.ExitCode)
	}
	state += fmt.Sprintf(", after waiting %v", (time.Duration(o.Waited) * time.Millisecond).Round(100*time.Millisecond))
	switch o.Event {
	case eventLine:
		const most = 2000
		line := []rune(o.Line)
		if len(line) > most {
			line = append(line[:most:most], '…')
		}
		return tool.Text("line: " + string(line) + "\n" + state)
	case eventExit:
		return tool.Text("The command has ended.\n" + state)
	}
	return tool.Text("Nothing happened within the timeout.\n" + state)
}

package bash

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
)

// monitorInput is what the model sends to Monitor.
type monitorInput struct {
	BashID  string `json:"bash_id,omitempty" jsonschema:"The id of the background command." haft:"alias=task_id|shell_id;example=b1a2b3c4d5"`
	Pattern string `json:"pattern,omitempty" jsonschema:"A regular expression that a line must match." haft:"alias=filter|until;example=listening on"`
	File    string `json:"file_path,omitempty" jsonschema:"A file or folder to wait for: until it appears, changes or disappears." haft:"path;alias=path|file"`
	Timeout int64  `json:"timeout,omitempty" jsonschema:"Maximum time to wait, in milliseconds." haft:"clamp;min=1;max=600000;default=60000"`
}

// MonitorOutput is what programs get from Monitor.
type MonitorOutput struct {
	ShellID  string `json:"shellId,omitempty"`
	Event    string `json:"event"`              // line, exit, file or timeout
	Line     string `json:"line,omitempty"`     // that matched
	FilePath string `json:"filePath,omitempty"` // that was waited for
	Change   string `json:"change,omitempty"`   // created, changed or deleted
	Status   string `json:"status,omitempty"`   // of the command
	ExitCode *int   `json:"exitCode,omitempty"` // absent while it runs
	Waited   int64  `json:"waitedMs"`
}

// What a wait ends with.
const (
	eventLine    = "line"
	eventExit    = "exit"
	eventFile    = "file"
	eventTimeout = "timeout"
)

// A watch is what is looked for in the output of a task.
type watch struct{ task, pattern string }

// A monitorCall waits for a command, a file, or whichever comes first.
type monitorCall struct {
	tools   *Tools
	task    *shellrun.Task // nil if it is for none
	pattern string
	at      int64    // bytes of the output that were looked through
	file    *awaited // nil if it is for none
	began   time.Time
	out     MonitorOutput
}

// lookAgain is how often a file is looked at: a file system that announces changes
// does not announce those of other machines.
const lookAgain = 100 * time.Millisecond

func (w *monitorCall) until(ctx context.Context, most time.Duration) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	var done <-chan struct{}
	if w.task != nil {
		done = w.task.Done()
	}
	var file <-chan time.Time
	if w.file != nil {
		ticker := time.NewTicker(lookAgain)
		defer ticker.Stop()
		file = ticker.C
	}
	for {
		changed, over := w.look()
		if over {
			return nil
		}
		select {
		case <-changed:
		case <-done:
		case <-file:
		case <-timer.C:
			w.finish(eventTimeout)
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// look finds out whether what is waited for has happened; if not, changed is closed
// when the command has written more.
func (w *monitorCall) look() (changed <-chan struct{}, over bool) {
	if w.file != nil {
		if change := w.file.change(); change != "" {
			w.out.Change = change
			w.finish(eventFile)
			return nil, true
		}
	}
	if w.task == nil {
		return nil, false
	}
	ended, more := w.task.Ended(), w.task.Output().Changed() // asked first, so that nothing is missed in between
	if w.pattern != "" {
		if line, found := w.nextMatch(regexp.MustCompile(w.pattern), ended); found {
			w.out.Line = line
			w.finish(eventLine)
			return nil, true
		}
		changed = more
	}
	if ended {
		w.finish(eventExit)
	}
	return changed, ended
}

// finish says how the wait ended.
func (w *monitorCall) finish(event string) {
	w.out.Event, w.out.Waited = event, time.Since(w.began).Milliseconds()
	if w.task == nil {
		return
	}
	w.out.Status = status(w.task)
	if w.task.Ended() {
		w.out.ExitCode = &[]int{w.task.Result().Status.Code}[0]
	}
}

// An awaited file is one as it was when the wait began.
type awaited struct {
	path string
	was  os.FileInfo // nil if it was not there
}

func newAwaited(path string) *awaited {
	info, _ := os.Stat(path) // what cannot be looked at is not there
	return &awaited{path, info}
}

// change says what has happened to the file; "" if nothing has.
func (a *awaited) change() string {
	now, err := os.Stat(a.path)
	switch {
	case err != nil && a.was == nil:
		return ""
	case err != nil:
		return "deleted"
	case a.was == nil:
		return "created"
	case !os.SameFile(a.was, now), now.Size() != a.was.Size(), !now.ModTime().Equal(a.was.ModTime()):
		return "changed"
	}
	return ""
}

// maxWatched is the longest line that is matched as a whole.
const maxWatched = 64 << 10

// nextMatch looks through the lines that this call has not looked through. It begins behind
// the line that an earlier call found with the same pattern. The last line counts without its
// end if nothing can follow it.
func (w *monitorCall) nextMatch(pattern *regexp.Regexp, ended bool) (string, bool) {
	for {
		data, from := w.task.Output().Since(w.at, maxWatched)
		if len(data) == 0 {
			return "", false
		}
		line, _, whole := bytes.Cut(data, []byte{'\n'})
		if !whole && !ended && len(data) < maxWatched {
			return "", false
		}
		w.at = from + int64(len(line))
		if whole {
			w.at++
		}
		if text := shellrun.Clean(string(line)); pattern.MatchString(text) {
			w.tools.mu.Lock()
			defer w.tools.mu.Unlock()
			found := watch{w.task.ID(), w.pattern}
			w.tools.watched[found] = max(w.tools.watched[found], w.at)
			return text, true
		}
	}
}

// render says how the outcome reads to the model.
func (o MonitorOutput) render() tool.Result {
	state := ""
	if o.ShellID != "" {
		state = "status: " + o.Status
		if o.ExitCode != nil {
			state += fmt.Sprintf(", exit code %d", *o.ExitCode)
		}
		state += ", "
	}
	state += fmt.Sprintf("after waiting %v", (time.Duration(o.Waited) * time.Millisecond).Round(100*time.Millisecond))
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
	case eventFile:
		return tool.Text(o.FilePath + " was " + o.Change + ".\n" + state)
	}
	return tool.Text("Nothing happened within the timeout.\n" + state)
}

// Package filetool is what the file tools share: how the workspace's errors and the guard's facts are said to the model
// and to the pipeline. It is pure and safe for concurrent use.
package filetool

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/workspace"
	"github.com/haftdev/haft/workspace/guard"
	"github.com/haftdev/haft/workspace/patch"
	"github.com/haftdev/haft/workspace/textfile"
)

// Error makes an error one for the model. All that can go wrong with a file is for the model to know; only the end of the
// call's context is not.
func Error(err error) error {
	var own *tool.Error
	if err == nil || errors.As(err, &own) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return tool.Errorf("%w", err)
}

// Problem makes an error a finding of Validate; nil stays nil.
func Problem(err error) *tool.Problem {
	if err == nil {
		return nil
	}
	p := &tool.Problem{Message: err.Error()}
	var no *workspace.Refusal
	if errors.As(err, &no) {
		p.Code = int(no.Code)
	}
	return p
}

// ReadView is a reading tool's own view of a path: what the guard lets pass is allowed. Where the path leads is remembered
// for the call; see Look.
func ReadView(ws *workspace.Workspace, c *tool.Call, path string) tool.Verdict {
	v := view(ws, c, path, guard.Read)
	if v.Behavior == tool.NoView {
		return tool.Verdict{Behavior: tool.Allow, Reason: "it is inside the project"}
	}
	return v
}

// WriteView is a writing tool's own view of a path: what the guard lets pass is left to rules and mode.
func WriteView(ws *workspace.Workspace, c *tool.Call, path string) tool.Verdict {
	return view(ws, c, path, guard.Write)
}

// Look looks at the path of a call that now runs. param is the name of the input field. It refuses what is no absolute path,
// and what leads elsewhere than when the call was judged.
func Look(ws *workspace.Workspace, c *tool.Call, path, param string) (guard.Facts, error) {
	f, err := ws.LookPinned(c.ID, path)
	if err == nil {
		err = ws.CheckPath(f, param)
	}
	return f, err
}

func view(ws *workspace.Workspace, c *tool.Call, path string, op guard.Op) tool.Verdict {
	f := ws.Look(path)
	ws.Pin(c.ID, f)
	v := f.Verdict(op)
	switch v.Decision {
	case guard.Ask:
		return tool.Verdict{Behavior: tool.Ask, Message: v.Reason, Reason: v.Reason}
	case guard.Deny:
		return tool.Verdict{Behavior: tool.Deny, Message: v.Reason + ".", Reason: v.Reason}
	}
	return tool.Verdict{}
}

// previewLimit is the size of a file up to which Validate tries a change before anybody is asked about it.
const previewLimit = 2 << 20

// Preview reports why a revision would be refused, if that is cheap to find out. Only files that the guard lets pass are
// opened before the verdict.
func Preview(ctx context.Context, ws *workspace.Workspace, r workspace.Revision) *tool.Problem {
	if r.Path.Verdict(guard.Write).Decision != guard.Allow || r.Path.Exists && r.Path.Info.Size > previewLimit {
		return nil
	}
	_, err := ws.Preview(ctx, r)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return Problem(err)
}

// Change is how a changed file is told to the model: what was done, the diff, what somebody else had changed, and notes.
type Change struct {
	Say     string // the first line
	Path    string
	Hunks   []patch.Hunk
	Stale   bool
	Foreign []patch.Hunk
	Notes   []string
}

// Text renders the change.
func (c Change) Text() string {
	var b strings.Builder
	b.WriteString(c.Say)
	for _, n := range c.Notes {
		b.WriteString("\nNote: " + n)
	}
	switch {
	case c.Stale && len(c.Foreign) == 0:
		b.WriteString("\nNote: somebody else changed the file since it was read. What was read is no longer at hand, so the change cannot be shown; the edit fitted and was made. Read the file before relying on the rest of it.")
	case c.Stale:
		b.WriteString("\nNote: somebody else changed the file since it was read. Their change, and below it what this call changed:\n" + strings.TrimRight(patch.Unified("read", "disk", short(c.Foreign)), "\n"))
	}
	if len(c.Hunks) > 0 {
		b.WriteString("\n" + patch.Unified(c.Path, c.Path, short(c.Hunks)))
	}
	return strings.TrimRight(b.String(), "\n")
}

// short cuts lines that are too long to read, such as an image inside a notebook.
func short(hunks []patch.Hunk) []patch.Hunk {
	const most = 2000
	out := make([]patch.Hunk, len(hunks))
	for i, h := range hunks {
		out[i] = h
		out[i].Lines = make([]string, len(h.Lines))
		for j, l := range h.Lines {
			if len(l) > most {
				l = fmt.Sprintf("%s… [%d more bytes]", strings.ToValidUTF8(l[:most], ""), len(l)-most)
			}
			out[i].Lines[j] = l
		}
	}
	return out
}

// Original returns the text of a file for a program's eyes, or "" if it is so large that a transcript should not hold it.
func Original(t *textfile.Text) string {
	const most = 256 << 10
	if t == nil || len(t.Bytes()) > most {
		return ""
	}
	return valid(t.Bytes())
}

// valid returns text that JSON can hold: bytes that are not UTF-8 become U+FFFD.
func valid(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// Hunks returns hunks that JSON can hold: an array even if there are none, and valid UTF-8.
func Hunks(h []patch.Hunk) []patch.Hunk {
	out := make([]patch.Hunk, len(h))
	for i := range h {
		out[i] = h[i]
		out[i].Lines = make([]string, len(h[i].Lines))
		for j, l := range h[i].Lines {
			out[i].Lines[j] = strings.ToValidUTF8(l, "\uFFFD")
		}
	}
	return out
}

// Base returns the last name of a path, for one-line summaries.
func Base(path string) string {
	if i := strings.LastIndexAny(path, `/\`); i >= 0 && i+1 < len(path) {
		return path[i+1:]
	}
	return path
}

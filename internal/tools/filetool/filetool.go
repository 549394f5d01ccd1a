// Package filetool is what the file tools share: how the workspace's errors and the guard's facts are said to the model
// and to the pipeline. It is pure and safe for concurrent use.
package filetool

import (
	"context"
	"errors"
	"strings"

	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
	"github.com/haftdev/haft/tool"
)

// Error makes an error one for the model. All that can go wrong with a file is for the model to know; only the end of the
// call's context is not.
func Error(err error) error {
	var own *tool.Error
	if err == nil || errors.As(err, &own) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	text := err.Error()
	if what, ok := strings.CutPrefix(text, "could not "); ok { // an error of the disk, which is not a sentence yet
		text = "Could not " + what + "."
	}
	return &tool.Error{Message: text, Err: err}
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
		v.Behavior, v.Reason = tool.Allow, "it is inside the project"
	}
	return v
}

// WriteView is a writing tool's own view of a path: what the guard lets pass is left to rules and mode.
func WriteView(ws *workspace.Workspace, c *tool.Call, path string) tool.Verdict {
	return view(ws, c, path, guard.Write)
}

// Reads and Writes are the paths of a call that is about one file.
func Reads(path string) tool.Paths  { return tool.Paths{Reads: present(path)} }
func Writes(path string) tool.Paths { return tool.Paths{Writes: present(path)} }

func present(path string) []string {
	if path == "" { // of an input that nobody checked
		return nil
	}
	return []string{path}
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

// CheckPath refuses what is no absolute path, before the call is judged. A path that reads as one is looked at only then.
func CheckPath(ws *workspace.Workspace, path, param string) error {
	if guard.Plain(path) {
		return nil
	}
	return ws.CheckPath(ws.Look(path), param)
}

func view(ws *workspace.Workspace, c *tool.Call, path string, op guard.Op) tool.Verdict {
	f := ws.Look(path)
	ws.Pin(c.ID, f)
	v := f.Verdict(op)
	switch v.Decision {
	case guard.Ask:
		return tool.Verdict{Behavior: tool.Ask, Message: v.Reason, Reason: v.Reason, Real: f.Real}
	case guard.Deny:
		return tool.Verdict{Behavior: tool.Deny, Message: v.Reason + ".", Reason: v.Reason, Real: f.Real}
	}
	return tool.Verdict{Real: f.Real}
}

// checkLimit is the size of a file up to which Validate tries a change before anybody is asked about it.
const checkLimit = 2 << 20

// Check reports why a revision would be refused, if that is cheap to find out. Only files that the guard lets pass are
// opened before the verdict.
func Check(ctx context.Context, ws *workspace.Workspace, c *tool.Call, r workspace.Revision) *tool.Problem {
	if r.Path.Verdict(guard.Write).Decision != guard.Allow || r.Path.Exists && r.Path.Info.Size > checkLimit {
		return nil
	}
	_, err := ws.Preview(ctx, r)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if c.UseID != "" { // otherwise it is a question about a call
		ws.Told(r, err)
	}
	return Problem(err)
}

// CheckEncoding refuses a name of an encoding that nobody knows; a call need not name any.
func CheckEncoding(name string) error {
	if name == "" {
		return nil
	}
	_, err := textfile.Lookup(name)
	return err
}

// Encoding is the encoding that a checked call names, or nil.
func Encoding(name string) *textfile.Encoding {
	enc, err := textfile.Lookup(name)
	if name == "" || err != nil {
		return nil
	}
	return &enc
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

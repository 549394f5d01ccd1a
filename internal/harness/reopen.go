package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/session"
)

// Kept is what a reopened conversation takes over from the one before it, which had the
// same user: a rewind must not undo what they have allowed since.
type Kept struct {
	mode  permission.Mode
	rules []permission.Rule
	roots []string
	note  string
}

// Unchanged records that the files of a plan stay as they are, although the conversation
// goes back to before it changed them.
func (k *Kept) Unchanged(p *checkpoint.Plan) {
	if len(p.Steps) > 0 {
		k.note = "The user returned the conversation to this point. Later changes to these files were not undone:" + steps(p, "")
	}
}

// NoteRewind leaves a note in a session for its model: what a rewind did to files.
func NoteRewind(ctx context.Context, s *session.Session, p *checkpoint.Plan, dir string) error {
	text := restoredText(p, dir)
	if text == "" {
		return nil
	}
	return leaveNote(ctx, s, text)
}

// NoteApplied leaves a note in a session for its model: which files a command has changed
// that the user ran beside it.
func NoteApplied(ctx context.Context, s *session.Session, command string, files []string, dir string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "The user ran this command outside the conversation, and it changed files; read a file again before you rely on it.\n%s", command)
	for i, path := range files {
		if i == maxSteps {
			fmt.Fprintf(&b, "\n- and %d more", len(files)-i)
			break
		}
		fmt.Fprintf(&b, "\n- %s", belowDir(dir, path))
	}
	return leaveNote(ctx, s, b.String())
}

// belowDir is a path as seen from a folder, if it is below it.
func belowDir(dir, path string) string {
	if rel, ok := pathin.Below(dir, path); ok {
		return filepath.ToSlash(rel)
	}
	return path
}

// leaveNote adds to what the model is told when the session continues.
func leaveNote(ctx context.Context, s *session.Session, text string) error {
	raw, err := json.Marshal(append(state[[]string](s.Restored(), stateNotes), text))
	if err != nil {
		return err
	}
	return s.Append(ctx, session.Entry{State: &session.State{Name: stateNotes, Value: raw}})
}

// restoredText tells the model what a rewind did to files.
func restoredText(p *checkpoint.Plan, dir string) string {
	if len(p.Steps) == 0 {
		return ""
	}
	return "The user rewound files to an earlier state. Changes that you know of are undone; read a file again before you rely on it:" + steps(p, dir)
}

// maxSteps is how many files the model is told about.
const maxSteps = 50

// steps lists what a plan did, with paths relative to dir; without dir, only the paths.
func steps(p *checkpoint.Plan, dir string) string {
	var b strings.Builder
	for i := range p.Steps {
		if i == maxSteps {
			fmt.Fprintf(&b, "\n- and %d more", len(p.Steps)-i)
			break
		}
		s := &p.Steps[i]
		if dir == "" {
			fmt.Fprintf(&b, "\n- %s", s.Path)
			continue
		}
		fmt.Fprintf(&b, "\n- %s %s", done[s.Action()], belowDir(dir, s.Path))
	}
	return b.String()
}

// done are the actions of steps that were taken.
var done = map[string]string{"delete": "deleted", "create": "created again", "restore": "restored"}

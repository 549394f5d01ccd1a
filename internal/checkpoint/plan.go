package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/workspace/blob"
	"github.com/haftdev/haft/internal/workspace/patch"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// A Plan is what a rewind would do.
type Plan struct {
	// Target is what it goes back to the beginning of: a message or a call.
	Target string `json:"target"`
	// Span is what lies between the target and now.
	Span Span `json:"span"`
	// Steps are the files that would change, by path.
	Steps []Step `json:"steps"`
	// Insertions and Deletions count lines.
	Insertions int `json:"insertions"`
	Deletions  int `json:"deletions"`
	// Uncovered says what of the session's changes a rewind does not cover.
	Uncovered string `json:"uncovered,omitempty"`
}

// A Span is what a rewind goes back over.
type Span struct {
	// Text is what the target says or calls, Time when it was.
	Text string    `json:"text,omitempty"`
	Time time.Time `json:"time,omitzero"`
	// Prompts and Calls count those from the target on, the target included.
	Prompts int `json:"prompts"`
	Calls   int `json:"calls"`
}

// A Step puts one file back.
type Step struct {
	Path string `json:"path"`
	Want File   `json:"want"` // as it was
	Had  File   `json:"had"`  // as it is
	// Foreign says that another program has changed the file since: their change
	// would be lost.
	Foreign bool `json:"foreign,omitempty"`
	// InPlace writes into the file where it has other names, which then change with
	// it.
	InPlace bool `json:"inPlace,omitempty"`
	// Raw has, in a plan on the disk, the path and the targets of links if one of
	// them is no text, which JSON cannot hold.
	Raw        [][]byte `json:"raw,omitempty"`
	Insertions int      `json:"insertions"`
	Deletions  int      `json:"deletions"`
}

// Action is what a step does to the file, in a word.
func (s *Step) Action() string {
	switch {
	case !s.Want.Exists():
		return "delete"
	case !s.Had.Exists():
		return "create"
	}
	return "restore"
}

// ErrNoTarget is what errors are that name a message or call which the session
// does not have.
var ErrNoTarget = errors.New("no such message or call")

// NewPlan says what it takes to bring the files back to how they were just before
// a message, a call or an earlier rewind. Target "" means what the user said
// last, of what the conversation did not go back from; in a session without
// messages, the first call that changed a file. Nothing is changed.
func NewPlan(ctx context.Context, journal, target string, blobs blob.Store) (*Plan, error) {
	p := &Plan{Target: target, Steps: []Step{}}
	changes, err := p.changesSince(ctx, journal)
	if err != nil {
		return nil, fmt.Errorf("plan rewind: %w", err)
	}
	for path, list := range changes {
		step, differs, err := newStep(ctx, path, list, blobs)
		if err != nil {
			return nil, fmt.Errorf("plan rewind: %w", err)
		}
		if differs {
			p.Steps = append(p.Steps, step)
			p.Insertions += step.Insertions
			p.Deletions += step.Deletions
		}
	}
	slices.SortFunc(p.Steps, func(a, b Step) int { return strings.Compare(a.Path, b.Path) })
	return p, nil
}

// changesSince returns the checkpoints from the target on, by path.
func (p *Plan) changesSince(ctx context.Context, journal string) (map[string][]session.Checkpoint, error) {
	changes := map[string][]session.Checkpoint{}
	left, err := session.Left(ctx, journal)
	if err != nil {
		return nil, err
	}
	found, last := false, ""
	for e, err := range session.Entries(ctx, journal) {
		if err != nil {
			return nil, err
		}
		switch {
		case p.Target == "" && isPrompt(&e) && !left[e.UUID]:
			found, last = true, e.UUID
			p.Span = Span{Text: textOf(&e), Time: e.Time}
			clear(changes)
		case p.Target == "" && !found && e.Checkpoint != nil:
			found, last = true, e.Checkpoint.CallID
			p.Span = Span{Time: e.Time}
		case p.Target != "" && !found && names(&e, p.Target):
			found = true
			p.Span = Span{Text: textOf(&e), Time: e.Time}
		}
		if found {
			p.Span.count(&e)
		}
		if e.State != nil && e.State.Name == uncoveredState {
			p.Uncovered = strings.Trim(string(e.State.Value), `"`)
		}
		if found && e.Checkpoint != nil {
			changes[e.Checkpoint.Path] = append(changes[e.Checkpoint.Path], *e.Checkpoint)
		}
	}
	if !found {
		return nil, fmt.Errorf("%w: %s", ErrNoTarget, cmp.Or(p.Target, "the session has no messages and has changed no files"))
	}
	p.Target = cmp.Or(p.Target, last)
	return changes, nil
}

// textOf is what an entry says or calls.
func textOf(e *session.Entry) string {
	switch {
	case e.Call != nil:
		return "the call of " + e.Call.Tool
	case e.Message == nil:
		return ""
	}
	var parts []string
	for _, b := range e.Message.Content {
		if b.Type == model.Text && !session.Injected(b) {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// count takes an entry into the span.
func (s *Span) count(e *session.Entry) {
	if e.Call != nil && e.Call.Step == session.Dispatched {
		s.Calls++
	}
	if isPrompt(e) {
		s.Prompts++
	}
}

// names reports whether an entry is, or is part of, what a target names.
func names(e *session.Entry, target string) bool {
	switch {
	case e.Call != nil:
		return e.Call.ID == target || e.Call.UseID == target
	case e.Checkpoint != nil:
		return e.Checkpoint.CallID == target
	case e.Message != nil:
		return e.UUID == target
	}
	return false
}

// isPrompt reports whether a user said it.
func isPrompt(e *session.Entry) bool {
	return e.Message != nil && e.Agent == "" && e.Message.Role == model.User && !e.Message.Synthetic &&
		!slices.ContainsFunc(e.Message.Content, func(b model.Block) bool { return b.Type == model.ToolResult })
}

// newStep compares a file with how it was before its changes.
func newStep(ctx context.Context, path string, changes []session.Checkpoint, blobs blob.Store) (s Step, differs bool, err error) {
	if !filepath.IsAbs(path) {
		return Step{}, false, fmt.Errorf("the journal names %q, which is not an absolute path", path)
	}
	now, content, err := lookAt(path)
	if err != nil {
		return Step{}, false, err
	}
	want, after := sides(&changes[0])
	foreign := false
	for _, c := range changes[1:] {
		before, next := sides(&c)
		foreign = foreign || !before.sameContent(after)
		after = next
	}
	s = Step{Path: path, Want: want, Had: now, Foreign: foreign || !now.sameContent(after)}
	if now.sameContent(want) && (now.Mode == want.Mode || !want.Exists()) {
		return s, false, nil
	}
	var old []byte
	if want.Digest != "" {
		if old, err = blobs.Get(ctx, want.Digest); err != nil {
			return Step{}, false, fmt.Errorf("cannot restore %s: %w", path, err)
		}
	}
	for _, h := range patch.Diff(content, old, 0) {
		for _, line := range h.Lines {
			switch line[0] {
			case '+':
				s.Insertions++
			case '-':
				s.Deletions++
			}
		}
	}
	return s, true, nil
}

// A ConflictError tells that a rewind would lose what another program has changed.
type ConflictError struct{ Paths []string }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("rewind: another program has changed %s since, so nothing was done. Check the preview, and use force if that change may be lost",
		strings.Join(e.Paths, ", "))
}

// conflicts returns the error for the steps that would lose someone's changes,
// or nil.
func (p *Plan) conflicts() error {
	var paths []string
	for _, s := range p.Steps {
		if s.Foreign {
			paths = append(paths, s.Path)
		}
	}
	if paths == nil {
		return nil
	}
	return &ConflictError{paths}
}

package checkpoint

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/internal/world/workspace/patch"
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

// unchanged reports, just before a step, what another program made of the file
// since the plan was begun.
func (s *Step) unchanged() error {
	if s.Had.Digest != "" && !s.InPlace && (s.Want.Digest != s.Had.Digest || s.Want.Attrs != s.Had.Attrs) {
		return nil // seen when it is exchanged
	}
	now, _, err := s.look()
	if err != nil {
		return err
	}
	// A folder may have been emptied by the steps before.
	if now.sameContent(s.Had) || now.sameContent(s.Want) {
		return nil
	}
	return &ConflictError{[]string{s.Path}}
}

// look returns how the path of a step is. What is there only by way of a link, in
// place of a folder that the plan makes, is not at the path.
func (s *Step) look() (File, []byte, error) {
	now, content, err := lookAt(s.Path)
	if err == nil && now.Exists() && !s.Had.Exists() && behindLink(s.Path) {
		return File{}, nil, nil
	}
	return now, content, err
}

// between reports whether a path is as it is for a moment when a folder takes the
// place of a file, or a file that of a folder: nothing is there.
func (s *Step) between(now File) bool {
	return !now.Exists() && s.Had.Exists() && s.Want.Exists() && s.Had.Mode.IsDir() != s.Want.Mode.IsDir()
}

// expects reports whether a file is the old or already the new one of a step.
func (s *Step) expects(dir *os.Root, name string) bool {
	if s.InPlace { // it may be torn
		return true
	}
	info, err := dir.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	content, err := dir.ReadFile(name)
	if err != nil {
		return os.IsPermission(err) && !s.readable()
	}
	digest := blob.Digest(content)
	return digest == s.Had.Digest || digest == s.Want.Digest
}

// readable reports whether the owner of the old file can read it.
func (s *Step) readable() bool { return s.Had.Mode&0o400 != 0 }

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

// Restored returns, for each of the messages in the journal that has any, the files that going
// back to before it would restore, by path. Unlike a plan it does not say how, and thus looks at
// every file only once.
func Restored(ctx context.Context, journal string) (map[string][]string, error) {
	var entries []session.Entry // messages and checkpoints
	for e, err := range session.Entries(ctx, journal) {
		switch {
		case err != nil:
			return nil, fmt.Errorf("plan rewinds: %w", err)
		case e.Checkpoint != nil:
			entries = append(entries, session.Entry{Checkpoint: e.Checkpoint})
		case isPrompt(&e):
			entries = append(entries, session.Entry{UUID: e.UUID})
		}
	}
	now, differ := map[string]File{}, map[string]bool{}
	restored := map[string][]string{}
	for _, e := range slices.Backward(entries) {
		if e.Checkpoint == nil {
			if len(differ) > 0 {
				restored[e.UUID] = slices.Sorted(maps.Keys(differ))
			}
			continue
		}
		path := e.Checkpoint.Path
		is, known := now[path]
		if !known {
			var err error
			if is, _, err = lookAt(path); err != nil {
				return nil, fmt.Errorf("plan rewinds: %w", err)
			}
			now[path] = is
		}
		was, _ := sides(e.Checkpoint)
		delete(differ, path)
		if restores(is, was) {
			differ[path] = true
		}
	}
	return restored, nil
}

// restores reports whether a file that is now so would change.
func restores(now, want File) bool {
	return !now.sameContent(want) || now.Mode != want.Mode && want.Exists()
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
	if !restores(now, want) {
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

// Apply does what the plan says, completely or not at all: if it fails, what was done
// is taken back; if the process dies, [Keeper.Recover] finishes it. The name that
// it returns is a target by which the rewind can be undone. The error is a
// [ConflictError] if someone's changes would be lost.
func (p *Plan) Apply(ctx context.Context, s *session.Session, opts *ApplyOptions) (undo string, err error) {
	if opts == nil || !opts.Force {
		if err := p.conflicts(); err != nil {
			return "", err
		}
	}
	if len(p.Steps) == 0 {
		return "", nil
	}
	undo = "rewind-" + session.NewUUID()
	if opts != nil && opts.Name != "" {
		undo = opts.Name
	}
	if err := p.remember(ctx, s, undo); err != nil {
		return "", fmt.Errorf("rewind: %w", err)
	}
	file := filepath.Join(s.Dir(), rewindFile)
	if err := p.save(file); err != nil {
		return "", fmt.Errorf("rewind: %w", err)
	}
	w := writer{blobs: s.Blobs(), many: len(p.Steps) > syncedOneByOne}
	steps := p.ordered()
	for i := range steps {
		err := steps[i].unchanged()
		if err == nil {
			err = w.put(ctx, &steps[i])
		}
		if err != nil {
			return "", p.failed(ctx, err, steps[:i], s.Blobs(), file)
		}
		if opts != nil && opts.did != nil {
			opts.did(steps[i].Path)
		}
	}
	if err := errors.Join(w.modes(steps), w.sync(filepath.Dir(steps[0].Path))); err != nil {
		return "", p.failed(ctx, err, steps, s.Blobs(), file)
	}
	return undo, os.Remove(file)
}

// syncedOneByOne is up to how many files are brought to the disk one by one; more
// are at once, at the end.
const syncedOneByOne = 16

// ordered returns the steps in an order in which they can be done: what must go,
// from the leaves up, and then what must come, from the root down.
func (p *Plan) ordered() []Step {
	var gone, come []Step
	for _, s := range p.Steps {
		if s.Want.Exists() {
			come = append(come, s)
		} else {
			gone = append(gone, s)
		}
	}
	slices.Reverse(gone)
	return append(gone, come...)
}

// remember keeps what will be replaced and writes it to the journal, so that the
// rewind can itself be rewound. It fails if a file is not as the plan says.
func (p *Plan) remember(ctx context.Context, s *session.Session, undo string) error {
	entries := make([]session.Entry, len(p.Steps))
	for i, step := range p.Steps {
		now, content, err := step.look()
		if err != nil {
			return err
		}
		if !now.sameContent(step.Had) {
			return &ConflictError{[]string{step.Path}}
		}
		if now.Digest != "" {
			if err := s.Blobs().Put(ctx, now.Digest, content); err != nil {
				return err
			}
		}
		c := checkpointOf(undo, step.Path, now, step.Want)
		entries[i] = session.Entry{Checkpoint: &c}
	}
	if err := s.Append(ctx, entries...); err != nil {
		return err
	}
	return s.Sync()
}

// save writes the plan where a later process finds it.
func (p *Plan) save(path string) error {
	for i := range p.Steps {
		s := &p.Steps[i]
		if !utf8.ValidString(s.Path + s.Want.Link + s.Had.Link) {
			s.Raw = [][]byte{[]byte(s.Path), []byte(s.Want.Link), []byte(s.Had.Link)}
		}
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return err
	}
	temp := path + ".new"
	file, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(raw)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// A PartialError says that a plan failed, and that some of what was done by then could not be
// taken back: another program has moved it meanwhile. The next start of the session tries again.
type PartialError struct {
	Paths []string // that are as the plan wanted them, or were moved
	Err   error
}

func (e *PartialError) Error() string {
	return fmt.Sprintf("%v; what was done could not all be taken back: %s", e.Err, strings.Join(e.Paths, ", "))
}

func (e *PartialError) Unwrap() error { return e.Err }

// failed takes back the steps that were done, because of an error.
func (p *Plan) failed(ctx context.Context, err error, done []Step, blobs blob.Store, file string) error {
	err = fmt.Errorf("rewind: %w", err)
	left, backErr := p.takeBack(ctx, done, blobs)
	if backErr == nil {
		return errors.Join(err, os.Remove(file))
	}
	partial := &PartialError{Err: errors.Join(err, backErr, left.save(file))}
	for _, s := range left.Steps {
		partial.Paths = append(partial.Paths, s.Path)
	}
	return partial
}

// takeBack undoes the steps that were done. With an error, it returns what is left to do.
func (p *Plan) takeBack(ctx context.Context, done []Step, blobs blob.Store) (left *Plan, err error) {
	back := &Plan{}
	for _, s := range done {
		back.Steps = append(back.Steps, Step{Path: s.Path, Want: s.Had, Had: s.Want, InPlace: s.InPlace})
	}
	slices.SortFunc(back.Steps, func(a, b Step) int { return strings.Compare(a.Path, b.Path) })
	w := writer{blobs: blobs}
	left = &Plan{}
	var errs []error
	steps := back.ordered()
	for i := range steps {
		if err := w.put(ctx, &steps[i]); err != nil {
			errs = append(errs, fmt.Errorf("take back: %w", err))
			left.Steps = append(left.Steps, steps[i])
		}
	}
	return left, errors.Join(append(errs, w.modes(steps))...)
}

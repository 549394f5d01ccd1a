package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/pathin"
	"github.com/haftdev/haft/internal/regular"
	"github.com/haftdev/haft/internal/workspace/blob"
	"github.com/haftdev/haft/session"
)

// ApplyOptions say how a rewind is done.
type ApplyOptions struct {
	// Force loses what another program has changed since. It is kept, and comes back
	// if the rewind is undone.
	Force bool
	// Name is what the change is recorded as, such as the call that it belongs to;
	// "" means a new name.
	Name string
}

// rewindFile is the plan of a rewind that is being done, in the session's folder.
const rewindFile = "rewind.json"

// Interrupted reports whether a process died while it applied a plan in the session
// with the journal: [Keeper.Recover] finishes it.
func Interrupted(journal string) bool {
	_, err := os.Lstat(filepath.Join(strings.TrimSuffix(journal, ".jsonl"), rewindFile))
	return err == nil
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
			return "", errors.Join(fmt.Errorf("rewind: %w", err), p.takeBack(ctx, steps[:i], s.Blobs()), os.Remove(file))
		}
	}
	if err := errors.Join(w.modes(steps), w.sync(filepath.Dir(steps[0].Path))); err != nil {
		return "", errors.Join(fmt.Errorf("rewind: %w", err), p.takeBack(ctx, steps, s.Blobs()), os.Remove(file))
	}
	return undo, os.Remove(file)
}

// syncedOneByOne is up to how many files are brought to the disk one by one; more
// are at once, at the end.
const syncedOneByOne = 16

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

// look returns how the path of a step is. What is there only by way of a link, in
// place of a folder that the plan makes, is not at the path.
func (s *Step) look() (File, []byte, error) {
	now, content, err := lookAt(s.Path)
	if err == nil && now.Exists() && !s.Had.Exists() && behindLink(s.Path) {
		return File{}, nil, nil
	}
	return now, content, err
}

// takeBack undoes the steps that were done.
func (p *Plan) takeBack(ctx context.Context, done []Step, blobs blob.Store) error {
	back := &Plan{}
	for _, s := range done {
		back.Steps = append(back.Steps, Step{Path: s.Path, Want: s.Had, Had: s.Want, InPlace: s.InPlace})
	}
	slices.SortFunc(back.Steps, func(a, b Step) int { return strings.Compare(a.Path, b.Path) })
	w := writer{blobs: blobs}
	var errs []error
	steps := back.ordered()
	for i := range steps {
		if err := w.put(ctx, &steps[i]); err != nil {
			errs = append(errs, fmt.Errorf("take back: %w", err))
		}
	}
	return errors.Join(append(errs, w.modes(steps))...)
}

// finishRewind does the rest of a rewind that a process died in. A file that is
// neither as it was nor as it should be was changed by someone since, and stays.
// The plan is a file that anybody may have put there, so it is only followed
// inside of the project.
func (k *Keeper) finishRewind(ctx context.Context, r *Recovered) error {
	path := filepath.Join(k.session.Dir(), rewindFile)
	raw, err := regular.Read(path, maxPlan)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("finish rewind: %w", err)
	}
	var p Plan
	if err := json.Unmarshal(raw, &p); err != nil {
		return fmt.Errorf("finish rewind: %s: %w", path, err)
	}
	for i := range p.Steps {
		if s := &p.Steps[i]; len(s.Raw) == 3 {
			s.Path, s.Want.Link, s.Had.Link = string(s.Raw[0]), string(s.Raw[1]), string(s.Raw[2])
		}
	}
	w := writer{blobs: k.opts.Blobs}
	steps := p.ordered()
	var done []Step
	for i := range steps {
		s := &steps[i]
		now, content, err := lookAt(s.Path)
		changed := err == nil && !now.sameContent(s.Had) && !now.sameContent(s.Want) && !w.torn(ctx, s, content) && !s.between(now)
		if !k.covers(s.Path) || changed && (s.Want.Exists() || !behindLink(s.Path)) || w.put(ctx, s) != nil {
			r.Left = append(r.Left, s.Path)
		} else {
			done = append(done, *s)
			r.Restored = append(r.Restored, s.Path)
		}
	}
	return errors.Join(w.modes(done), os.Remove(path))
}

// between reports whether a path is as it is for a moment when a folder takes the
// place of a file, or a file that of a folder: nothing is there.
func (s *Step) between(now File) bool {
	return !now.Exists() && s.Had.Exists() && s.Want.Exists() && s.Had.Mode.IsDir() != s.Want.Mode.IsDir()
}

// behindLink reports whether a link has taken the place of a folder above the
// path, so that nothing is at the path itself.
func behindLink(path string) bool {
	parent := filepath.Dir(path)
	real, err := filepath.EvalSymlinks(parent)
	return err == nil && real != parent
}

const maxPlan = 64 << 20 // bytes

// covers reports whether a path lies in the tree.
func (k *Keeper) covers(path string) bool {
	return filepath.IsAbs(path) && pathin.Contains(k.root, path)
}

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

	"github.com/haftdev/haft/internal/pathin"
	"github.com/haftdev/haft/internal/regular"
	"github.com/haftdev/haft/internal/workspace/blob"
	"github.com/haftdev/haft/session"
)

// ApplyOptions say how a rewind is done.
type ApplyOptions struct {
	// Force loses what somebody else has changed since. It is kept, and comes back
	// if the rewind is undone.
	Force bool
}

// rewindFile is the plan of a rewind that is being done, in the session's folder.
const rewindFile = "rewind.json"

// Apply does what the plan says, wholly or not at all: if it fails, what was done
// is taken back; if the process dies, [Keeper.Recover] finishes it. The name that
// it returns is a target by which the rewind can be undone. The error is a
// [ConflictError] if somebody's changes would be lost.
func (p *Plan) Apply(ctx context.Context, s *session.Session, opts *ApplyOptions) (undo string, err error) {
	if opts == nil || !opts.Force {
		if err := p.Conflicts(); err != nil {
			return "", err
		}
	}
	if len(p.Steps) == 0 {
		return "", nil
	}
	undo = "rewind-" + session.NewUUID()
	if err := p.remember(ctx, s, undo); err != nil {
		return "", fmt.Errorf("rewind: %w", err)
	}
	file := filepath.Join(s.Dir(), rewindFile)
	if err := p.save(file); err != nil {
		return "", fmt.Errorf("rewind: %w", err)
	}
	for i := range p.Steps {
		step := p.ordered()[i]
		if err := put(ctx, step.Path, step.Want, s.Blobs()); err != nil {
			return "", errors.Join(fmt.Errorf("rewind: %w", err), p.takeBack(ctx, i, s.Blobs()), os.Remove(file))
		}
	}
	return undo, os.Remove(file)
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
		now, content, err := lookAt(step.Path)
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

// takeBack undoes the first n steps.
func (p *Plan) takeBack(ctx context.Context, n int, blobs blob.Store) error {
	back := &Plan{}
	for _, s := range p.ordered()[:n] {
		back.Steps = append(back.Steps, Step{Path: s.Path, Want: s.Had})
	}
	slices.SortFunc(back.Steps, func(a, b Step) int { return strings.Compare(a.Path, b.Path) })
	var errs []error
	for _, s := range back.ordered() {
		if err := put(ctx, s.Path, s.Want, blobs); err != nil {
			errs = append(errs, fmt.Errorf("take back: %w", err))
		}
	}
	return errors.Join(errs...)
}

// finishRewind does the rest of a rewind that a process died in. A file that is
// neither as it was nor as it should be was changed by somebody since, and stays.
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
	for _, s := range p.ordered() {
		now, _, err := lookAt(s.Path)
		changed := err == nil && !now.sameContent(s.Had) && !now.sameContent(s.Want)
		if changed || !k.covers(s.Path) || put(ctx, s.Path, s.Want, k.opts.Blobs) != nil {
			r.Left = append(r.Left, s.Path)
		} else {
			r.Restored = append(r.Restored, s.Path)
		}
	}
	return os.Remove(path)
}

const maxPlan = 64 << 20 // bytes

// covers reports whether a path lies in the tree.
func (k *Keeper) covers(path string) bool {
	return filepath.IsAbs(path) && pathin.Contains(k.root, path)
}

package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/sys/regular"
)

// ApplyOptions say how a rewind is done.
type ApplyOptions struct {
	// Force loses what another program has changed since. It is kept, and comes back
	// if the rewind is undone.
	Force bool
	// Name is what the change is recorded as, such as the call that it belongs to;
	// "" means a new name.
	Name string

	did func(path string) // is told of each file that was changed; for tests
}

// rewindFile is the plan of a rewind that is being done, in the session's folder.
const rewindFile = "rewind.json"

// Interrupted reports whether a process died while it applied a plan in the session
// with the journal: [Keeper.Recover] finishes it.
func Interrupted(journal string) bool {
	_, err := os.Lstat(filepath.Join(strings.TrimSuffix(journal, ".jsonl"), rewindFile))
	return err == nil
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

package preview

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/checkpoint"
	"github.com/haftdev/haft/internal/workspace/blob"
	"github.com/haftdev/haft/internal/workspace/merge"
	"github.com/haftdev/haft/internal/workspace/textfile"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A ConflictError says that another program changed files that the command changed
// too, and that both changes cannot be kept. Nothing was written.
type ConflictError struct {
	Paths []string
	While string // when that was
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("nothing was changed: while %s, another program changed %s too. Run the command again", e.While, Listed(e.Paths, 5))
}

// Preview returns what Apply would change in the folders as they are now.
func (r *Result) Preview(context.Context) (*tool.Preview, error) {
	if r.broken != nil {
		return nil, r.broken
	}
	list, err := r.rebased()
	if err != nil {
		return nil, err
	}
	return r.show(list), nil
}

// rebased returns the entries against the folders as they are now: unchanged where
// nobody else changed anything, merged where texts can be.
func (r *Result) rebased() ([]entry, error) {
	var conflicts []string
	list := make([]entry, 0, len(r.entries))
	present := newPresent(r.request.Limits)
	for _, e := range r.entries {
		now, err := present.look(e.path, e.before)
		if err != nil {
			return nil, err
		}
		switch merged, ok := e.merge(now); {
		case !ok:
			conflicts = append(conflicts, e.path)
		case !merged.same():
			list = append(list, merged)
		}
	}
	if conflicts != nil {
		return nil, &ConflictError{Paths: conflicts, While: "the change waited for approval"}
	}
	return list, nil
}

// merge returns the entry against another version before it.
func (e entry) merge(now version) (entry, bool) {
	switch {
	case now.File == e.before.File, now.File == e.after.File:
		e.before = now
		return e, true
	case now.Mode.IsDir() && e.before.Mode.IsDir() && e.after.Mode.IsDir():
		e.before = now
		return e, true // only modes
	case now.Digest == e.before.Digest && now.Link == e.before.Link && now.Mode.Type() == e.before.Mode.Type():
		// Others changed the mode or the attributes.
		if e.after.Mode == e.before.Mode && e.after.Exists() {
			e.after.Mode = now.Mode
		}
		if e.after.Attrs == e.before.Attrs {
			e.after.Attrs = now.Attrs
		}
		e.before = now
		return e, true
	}
	base, ours, theirs, ok := e.texts(now)
	if !ok {
		return e, false
	}
	m := merge.Lines(base.Lines(), ours.Lines(), theirs.Lines())
	if !m.Clean() {
		return e, false
	}
	raw := m.Bytes()
	if e.after.Mode == e.before.Mode {
		e.after.Mode = now.Mode
	}
	e.before, e.source = now, source{}
	e.after.raw, e.after.held, e.after.size, e.after.Digest = raw, true, int64(len(raw)), blob.Digest(raw)
	return e, true
}

// texts returns the three sides of a merge, if all are texts in one encoding.
func (e *entry) texts(now version) (base, ours, theirs *textfile.Text, ok bool) {
	for _, v := range []*version{&e.before, &e.after, &now} {
		if !v.held || !v.Mode.IsRegular() {
			return nil, nil, nil, false
		}
	}
	var errs [3]error
	base, errs[0] = textfile.Parse(e.before.raw)
	ours, errs[1] = textfile.Parse(e.after.raw)
	theirs, errs[2] = textfile.Parse(now.raw)
	if errors.Join(errs[:]...) != nil {
		return nil, nil, nil, false
	}
	return base, ours, theirs, base.Encoding().String() == ours.Encoding().String() && base.Encoding().String() == theirs.Encoding().String()
}

// maxApplied is the largest file that is applied.
const maxApplied = 512 << 20

// Apply makes the change, without the files that are dropped: all of it, or nothing and
// an error. It is recorded in the session under the name, such as the call that it
// belongs to, and a rewind to that name undoes it. A session that is not on the disk
// cannot hold it.
func (r *Result) Apply(ctx context.Context, s *session.Session, name string, dropped ...string) error {
	if r.broken != nil {
		return r.broken
	}
	list, err := r.rebased()
	if err != nil {
		return err
	}
	if list = without(list, dropped); len(list) == 0 {
		r.moveShell()
		return nil
	}
	if s == nil || s.Dir() == "" {
		return errors.New("nothing was changed: changes can only be applied in a saved session, and this one is not saved")
	}
	plan := &checkpoint.Plan{}
	for i := range list {
		e := &list[i]
		if err := e.keep(ctx, s.Blobs()); err != nil {
			return fmt.Errorf("nothing was changed: %w", err)
		}
		plan.Steps = append(plan.Steps, checkpoint.Step{Path: e.path, Want: e.after.File, Had: e.before.File, InPlace: e.inPlace})
	}
	_, err = plan.Apply(ctx, s, &checkpoint.ApplyOptions{Name: name})
	var conflict *checkpoint.ConflictError
	switch {
	case errors.As(err, &conflict):
		return &ConflictError{Paths: conflict.Paths, While: "the change was applied"}
	case err != nil:
		return fmt.Errorf("nothing was changed: %s", strings.TrimPrefix(err.Error(), "rewind: "))
	}
	r.moveShell()
	return nil
}

// without leaves paths out of a list that is sorted by path, and with them what
// cannot be without them: a folder that goes although something in it stays, a file in
// the place of such a folder, and a new folder of which nothing is left.
func without(list []entry, dropped []string) []entry {
	if len(dropped) == 0 {
		return list
	}
	out := map[string]bool{}
	for _, path := range dropped {
		out[path] = true
	}
	for _, path := range dropped {
		for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			n, found := slices.BinarySearchFunc(list, dir, func(e entry, p string) int { return strings.Compare(e.path, p) })
			if found && list[n].before.Mode.IsDir() && !list[n].after.Mode.IsDir() {
				out[dir] = true
			}
		}
	}
	var kept []entry
	for i := len(list) - 1; i >= 0; i-- { // what is in a folder before the folder
		e := &list[i]
		empty := isDir(e) && !e.before.Exists() && hasBelow(list, i) &&
			!slices.ContainsFunc(kept, func(k entry) bool { return strings.HasPrefix(k.path, e.path+"/") })
		if !out[e.path] && !empty {
			kept = append(kept, *e)
		}
	}
	slices.Reverse(kept)
	return kept
}

// keep puts the content that is to be written into the store.
func (e *entry) keep(ctx context.Context, blobs blob.Store) error {
	if e.after.Digest == "" || e.after.Digest == e.before.Digest {
		return nil
	}
	raw := e.after.raw
	if !e.after.held {
		var err error
		if raw, err = e.source.read(maxApplied); err != nil {
			return err
		}
	}
	if blob.Digest(raw) != e.after.Digest {
		return fmt.Errorf("%s no longer matches what was shown", e.path)
	}
	return blobs.Put(ctx, e.after.Digest, bytes.Clone(raw))
}

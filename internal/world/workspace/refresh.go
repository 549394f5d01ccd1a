package workspace

import (
	"context"

	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/internal/world/workspace/patch"
)

// Fresh reports whether an agent knows the current content of a text file.
func (w *Workspace) Fresh(agent string, path guard.Facts) bool {
	seen, ok := w.Seen(agent).Get(path.Real)
	if !ok {
		return false
	}
	f, err := w.Load(path)
	return err == nil && f.Hash == seen.Hash
}

// Refresh is for changes made on behalf of an agent, for example by a hook that formats what
// the agent wrote: they do not count as another program's changes. From now on the agent is
// considered to know the current content. Refresh returns the difference, which the agent
// should be shown; it is nil if nothing has changed or nothing can be compared.
func (w *Workspace) Refresh(ctx context.Context, agent string, path guard.Facts) ([]patch.Hunk, error) {
	release, err := w.turn(ctx, path.Real)
	if err != nil {
		return nil, err
	}
	defer release()
	f, err := w.Load(path)
	if err != nil {
		return nil, err
	}
	w.decodeAs(Revision{Agent: agent}, f)
	seen, ok := w.Seen(agent).Get(f.Path)
	if !ok || seen.Hash == f.Hash || f.Text == nil {
		return nil, nil
	}
	was := w.base(ctx, agent, seen)
	if was == nil {
		return nil, nil
	}
	hunks := difference(was, f.Text)
	e := f.entry(moved(seen.Ranges, hunks, len(hunks))...)
	e.Given = seen.Given
	w.Saw(agent, e)
	return hunks, nil
}

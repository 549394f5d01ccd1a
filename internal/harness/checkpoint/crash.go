package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/internal/world/workspace/blob"
)

// The session's folder has the tree as it was before the calls that run, and a
// file per such call. Whoever finds them after a crash can tell what the calls
// changed.
const (
	treeFile   = "tree"
	openFolder = "open-calls"
)

// open makes what a call changes known even if this process dies meanwhile.
func (k *Keeper) open(call string, t *tree) error {
	dir := k.session.Dir()
	if dir == "" {
		return nil
	}
	if k.saved == nil || !k.saved.equal(t) {
		if err := t.save(filepath.Join(dir, treeFile)); err != nil {
			return err
		}
		k.saved = t
		k.share(filepath.Join(dir, treeFile))
	}
	if err := os.MkdirAll(filepath.Join(dir, openFolder), 0o700); err != nil {
		return err
	}
	return os.WriteFile(k.openFile(call), []byte(call), 0o600)
}

func (k *Keeper) openFile(call string) string {
	return filepath.Join(k.session.Dir(), openFolder, blob.Digest([]byte(call))[:16])
}

// done forgets a call whose changes are noted.
func (k *Keeper) done(call string) {
	if k.session.Dir() != "" {
		os.Remove(k.openFile(call)) // one that stays is compared once more, which notes the same
	}
}

// share makes the tree known to the project's next sessions, which then need not
// read every file.
func (k *Keeper) share(path string) {
	temp := k.projectTree() + "-" + k.session.ID()
	os.Remove(temp)
	if os.Link(path, temp) != nil || os.Rename(temp, k.projectTree()) != nil {
		os.Remove(temp) // the next session reads every file
	}
}

func (k *Keeper) projectTree() string {
	return filepath.Join(filepath.Dir(k.session.Dir()), "haft-tree")
}

// Recovered is what [Keeper.Recover] found and did.
type Recovered struct {
	// Calls are those whose end nobody saw; what they changed is noted.
	Calls []string
	// Restored are the files that a rewind which was cut off has put back now, Left
	// those that it leaves: someone has changed them since, or they are not the
	// project's.
	Restored, Left []string
}

// Recover notes what calls changed that an earlier process did not see the end
// of, and finishes a rewind that was begun. Call it when a session is resumed,
// before anything runs.
func (k *Keeper) Recover(ctx context.Context) (*Recovered, error) {
	r := new(Recovered)
	dir := k.session.Dir()
	if dir == "" {
		return r, nil
	}
	if err := k.finishRewind(ctx, r); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	open, err := os.ReadDir(filepath.Join(dir, openFolder))
	if errors.Is(err, fs.ErrNotExist) || len(open) == 0 {
		return r, nil
	}
	before := loadTree(filepath.Join(dir, treeFile))
	for _, e := range open {
		call, err := regular.Read(filepath.Join(dir, openFolder, e.Name()), maxCallName)
		if err != nil {
			continue
		}
		r.Calls = append(r.Calls, string(call))
	}
	if before == nil || len(r.Calls) == 0 {
		return r, nil
	}
	k.last = before
	if err := k.compare(ctx, before, r.Calls[0]); err != nil {
		return r, err
	}
	for _, call := range r.Calls {
		k.done(call)
	}
	return r, nil
}

const maxCallName = 4096 // bytes

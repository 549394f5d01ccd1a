package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/haftdev/haft/internal/world/workspace/blob"
)

// An Aside is a folder with changes that are not stored: those of a call that was cut off, or files
// that are never stored. It stays until a user removes it.
type Aside struct {
	Run  string `json:"run"`
	Path string `json:"path"`
	// Call is the last call whose changes are stored.
	Call string    `json:"call,omitempty"`
	Time time.Time `json:"time"`
}

// SweepOptions say which folders are swept.
type SweepOptions struct {
	// Dir, Blobs, Home and Aside are as in [Options].
	Dir   string
	Blobs blob.Store
	Home  string
	Aside func(*Aside)
	// Needed says whether a run is to find its folder with a point again. If not, last is the last
	// point that others know, nil if they know none.
	Needed func(run string, p *Point) (needed bool, last *Point)
}

// Sweep removes the folders on this machine that nobody uses and that are not wanted any more. A
// folder with changes that are not stored, or that are stored where nobody finds them, is moved
// aside.
func Sweep(ctx context.Context, o *SweepOptions) error {
	entries, err := os.ReadDir(filepath.Join(o.Dir, "runs"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for old folders: %w", err)
	}
	var failed error
	for _, e := range entries {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := sweepOne(ctx, o, e.Name()); err != nil {
			failed = errors.Join(failed, fmt.Errorf("clean up %s: %w", e.Name(), err))
		}
	}
	return failed
}

func sweepOne(ctx context.Context, o *SweepOptions, name string) error {
	root := filepath.Join(o.Dir, "runs", name)
	lock, err := lockFolder(root)
	if err != nil || lock == nil {
		return err
	}
	w := &Workspace{Options: Options{Dir: o.Dir, Aside: o.Aside, Blobs: o.Blobs}, lock: lock}
	defer w.Close()
	known, err := readNoted(root)
	if err != nil {
		w.root = root
		return err // it stays for a user to look at
	}
	if known == nil { // it was never finished
		w.root = root
		return os.RemoveAll(root)
	}
	w.Run, w.Spec = known.Run, known.Spec
	if o.Home != "" {
		w.homes = []string{o.Home}
	}
	w.at(root)
	needed, last := o.Needed(known.Run, known.Point)
	if needed {
		return nil
	}
	w.Last = last
	unchanged, left, err := w.compare(ctx, known)
	if err != nil {
		return err
	}
	if !unchanged || loses(left) || !w.includes(ctx, known.Point) {
		return w.aside()
	}
	return os.RemoveAll(root)
}

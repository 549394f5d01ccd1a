package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
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

// aside moves the folder where nobody works in it.
func (w *Workspace) aside() error {
	now := time.Now().UTC()
	to := filepath.Join(w.Dir, "aside", fmt.Sprintf("%s-%s", filepath.Base(w.root), now.Format("20060102-150405.000000")))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("keep a changed folder: %w", err)
	}
	if err := os.Rename(w.root, to); err != nil {
		return fmt.Errorf("keep a changed folder: %w", err)
	}
	if w.Aside != nil {
		a := &Aside{Run: w.Run, Path: filepath.Join(to, filepath.Base(w.work)), Time: now}
		if w.point != nil {
			a.Call = w.point.Call
		}
		w.Aside(a)
	}
	return nil
}

// Sweep removes the folders on this machine that nobody uses and that are not wanted any more. Needed
// says whether a run is to find its folder with a point again. A folder with changes that are not
// stored is moved aside and given to aside.
func Sweep(ctx context.Context, dir, home string, needed func(run string, p *Point) bool, aside func(*Aside)) error {
	entries, err := os.ReadDir(filepath.Join(dir, "runs"))
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
		if err := sweepOne(ctx, dir, home, e.Name(), needed, aside); err != nil {
			failed = errors.Join(failed, fmt.Errorf("clean up %s: %w", e.Name(), err))
		}
	}
	return failed
}

func sweepOne(ctx context.Context, dir, home, name string, needed func(string, *Point) bool, aside func(*Aside)) error {
	root := filepath.Join(dir, "runs", name)
	lock, err := lockFolder(root)
	if err != nil || lock == nil {
		return err
	}
	w := &Workspace{Options: Options{Dir: dir, Aside: aside}, lock: lock}
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
	if home != "" {
		w.homes = []string{home}
	}
	w.at(root)
	if needed(known.Run, known.Point) {
		return nil
	}
	unchanged, left, err := w.compare(ctx, known)
	if err != nil {
		return err
	}
	if !unchanged || loses(left) {
		return w.aside()
	}
	return os.RemoveAll(root)
}

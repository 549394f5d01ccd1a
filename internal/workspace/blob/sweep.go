package blob

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// SweepOptions say what a sweep deletes.
type SweepOptions struct {
	// Wanted reports whether a content is still needed.
	Wanted func(digest string) bool
	// Young is the age up to which files stay in any case: they may belong to something that is just being written.
	Young time.Duration
	// DryRun only counts.
	DryRun bool
}

// young reports whether a file is too young to go. One from the future was written before the clock was set back: its age is
// not known, so it stays.
func (o *SweepOptions) young(info fs.FileInfo) bool { return time.Since(info.ModTime()) < o.Young }

// Swept is what a sweep deleted, or would.
type Swept struct {
	Blobs int
	Bytes int64
}

// Sweep deletes the contents that are not wanted.
func (d Dir) Sweep(ctx context.Context, o *SweepOptions) (Swept, error) {
	var s Swept
	err := filepath.WalkDir(string(d), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || e.IsDir() {
			return errors.Join(err, ctx.Err())
		}
		if filepath.Ext(path) == packSuffix {
			return d.sweepPack(ctx, path, o, &s)
		}
		info, err := e.Info()
		if err != nil || o.Wanted(filepath.Base(filepath.Dir(path))+e.Name()) || o.young(info) {
			return err
		}
		s.Blobs++
		s.Bytes += info.Size()
		if o.DryRun {
			return nil
		}
		return os.Remove(path)
	})
	return s, err
}

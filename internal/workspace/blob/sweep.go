package blob

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

// sweepPack deletes a pack that nobody needs, and writes one again of which less than
// half is needed.
func (d Dir) sweepPack(ctx context.Context, path string, o *SweepOptions, s *Swept) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	list := readIndex(path) // nothing of a damaged one is available, so that it goes
	var needed []packed
	var bytesNeeded int64
	for _, e := range list {
		if o.Wanted(hex.EncodeToString(e.digest[:])) {
			needed = append(needed, e)
			bytesNeeded += int64(e.length)
		}
	}
	unneeded := len(list) - len(needed)
	if o.young(info) || len(needed) > 0 && bytesNeeded*2 > info.Size() {
		return nil
	}
	s.Blobs += unneeded
	s.Bytes += info.Size() - bytesNeeded
	if o.DryRun {
		return nil
	}
	if err := d.rescue(ctx, path, needed); err != nil {
		return err
	}
	return os.Remove(path)
}

// rescue writes what is needed of a pack that is about to go.
func (d Dir) rescue(ctx context.Context, path string, needed []packed) error {
	if len(needed) == 0 {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	end, _, _, err := readTrailer(file)
	if err != nil {
		return err
	}
	p, err := d.NewPack()
	if err != nil {
		return err
	}
	slices.SortFunc(needed, func(a, b packed) int { return cmp.Compare(a.offset, b.offset) })
	for _, e := range needed {
		b, err := readPacked(file, e, end)
		if err != nil {
			continue // damaged: it could not be had in any case
		}
		delete(p.have, e.digest) // in the pack that goes
		if err := errors.Join(p.Add(hex.EncodeToString(e.digest[:]), b), ctx.Err()); err != nil {
			p.Discard()
			return err
		}
	}
	return p.Close()
}

package blob

import (
	"io/fs"
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

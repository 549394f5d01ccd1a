package preview

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// watchDisk ends a command that writes more than can be previewed before the disk is
// full. The free space of the disk costs nothing to look at; only if it has shrunk by
// as much, which others may have done, is it counted what the command wrote in a
// folder.
func watchDisk(ctx context.Context, dir string, l Limits, end context.CancelCauseFunc) {
	before, err := free(dir)
	if err != nil {
		return // the limits hold when the change is read
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, err := free(dir)
		if err != nil || before.bytes-now.bytes < l.Bytes && before.files-now.files < int64(l.Files) {
			continue
		}
		switch used := usage(ctx, dir, l); {
		case used.bytes > l.Bytes:
			end(&LimitError{fmt.Sprintf("more than %d MB", l.Bytes>>20)})
			return
		case used.files > int64(l.Files):
			end(&LimitError{fmt.Sprintf("more than %d files", l.Files)})
			return
		}
		before = now // others used it
	}
}

// An amount is space on a disk.
type amount struct{ bytes, files int64 }

func free(dir string) (amount, error) {
	var st unix.Statfs_t
	err := unix.Statfs(dir, &st)
	return amount{int64(st.Bavail) * st.Bsize, int64(st.Ffree)}, err
}

// usage is what a folder takes on the disk, until it is more than the limits.
func usage(ctx context.Context, dir string, l Limits) (used amount) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it changes meanwhile
		}
		if info, err := e.Info(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				used.bytes += st.Blocks * 512
			}
		}
		used.files++
		if ctx.Err() != nil || used.bytes > l.Bytes || used.files > int64(l.Files) {
			return fs.SkipAll
		}
		return nil
	})
	return used
}

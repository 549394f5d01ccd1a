package session

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"
)

const (
	// prefixStep is how much a journal must grow before its prefix is extended.
	prefixStep = 512 << 10
	// prefixMost is how much is read for that at once when a session is closed.
	prefixMost = 128 << 20
	// prefixQuiet is how long files must not have been written before their timestamps
	// prove that they are unchanged: clocks of file systems are coarse.
	prefixQuiet = 20 * time.Millisecond
)

func writeAt(path string, at int64, b []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := file.Truncate(at); err != nil { // what an interrupted write left
		return err
	}
	if _, err := file.WriteAt(b, at); err != nil {
		return err
	}
	return file.Sync()
}

// sealPrefix records the state of the files after the last write. It first reads what a
// long session has added, so that the next resume does not have to.
func (s *Session) sealPrefix(ctx context.Context) error {
	file, err := os.Open(s.path)
	if err != nil {
		return fmt.Errorf("open session: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("open session: %w", err)
	}
	p := s.prefix
	covered := int64(0)
	if p != nil {
		covered = p.index.Size
	}
	grown := info.Size() - covered
	if grown >= prefixStep && grown <= prefixMost {
		r, err := readOn(ctx, s.path, p)
		if err != nil {
			return err
		}
		r.restoreBlobs(ctx, s.blobs)
		messages, lost := fold(r.chain, r.beside, r.calls)
		r.lost = len(lost)
		p = r.extend(s.path, file, messages)
	}
	if p == nil || !seals() {
		return nil
	}
	now, err := stampsOf(file, p.dir)
	if err != nil {
		return fmt.Errorf("seal session: %w", err)
	}
	quiet := time.Until(time.Unix(0, max(now.Journal.MTime, now.Text.MTime, now.Table.MTime)).Add(prefixQuiet))
	time.Sleep(min(quiet, prefixQuiet)) // files are from the future if the clock was set back
	p.index.Sealed = &now
	return p.index.save(p.dir)
}

// seals reports whether timestamps and inode numbers prove here that files are unchanged.
func seals() bool { return runtime.GOOS == "linux" }

package atomic

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/haftdev/haft/internal/workspace/disk"
)

// overwrite changes the bytes of the file itself. Both contents are safe in the journal before the first byte changes.
func (w *Writer) overwrite(dir disk.Dir, name string, f File) (disk.Info, error) {
	file, err := dir.Open(name, os.O_RDWR, 0)
	if err != nil {
		return disk.Info{}, err
	}
	defer file.Close()
	old, err := readAll(file, f.Old.Size)
	if err != nil {
		return disk.Info{}, err
	}
	info, err := file.Stat()
	if err == nil && !info.Same(*f.Old) {
		err = ErrChanged
	}
	if err != nil {
		return disk.Info{}, err
	}
	if err := file.Reserve(int64(len(f.Data))); err != nil {
		return disk.Info{}, err
	}
	e, err := w.prepare(f, old)
	if err != nil {
		return disk.Info{}, &journalError{err}
	}
	if err := still(file, old); err != nil {
		e.end()
		e.forget()
		return disk.Info{}, err
	}
	if err := put(file, f.Data, len(old)); err != nil {
		if undo := put(file, old, max(len(f.Data), len(old))); undo != nil {
			_ = e.file.Close() // unlocked, so that any recovery can settle it
			return disk.Info{}, &tornError{Path: f.Path, Saved: filepath.Join(w.journal, e.id+oldSuffix), Err: fmt.Errorf("%w, then %w", err, undo)}
		}
		e.end()
		e.forget()
		return disk.Info{}, err
	}
	e.end()
	e.forget()
	now, err := file.Stat()
	if err != nil { // it is written all the same
		now = *f.Old
		now.Size = int64(len(f.Data))
	}
	return now, nil
}

// still refuses a file that someone wrote to while the journal was filled. It compares contents: reserving space may have
// changed the time.
func still(file disk.File, old []byte) error {
	now, err := readAll(file, int64(len(old)))
	if err == nil && !bytes.Equal(now, old) {
		err = ErrChanged
	}
	return err
}

// prepare fills the journal for a write in place. The record comes last and makes the rest count.
func (w *Writer) prepare(f File, old []byte) (*entry, error) {
	e, err := w.open()
	if err != nil {
		return nil, err
	}
	steps := []func() error{
		func() error { return e.save(oldSuffix, old) },
		func() error { return e.save(newSuffix, f.Data) },
		func() error { return w.dir.Sync() },
		func() error {
			return e.write(record{Kind: kindInPlace, Dir: filepath.Dir(f.Path), Name: filepath.Base(f.Path),
				Dev: f.Old.Dev, Ino: f.Old.Ino, OldHash: hash(old), NewHash: hash(f.Data)})
		},
		e.file.Sync,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			e.end()
			e.forget()
			return nil, err
		}
	}
	return e, nil
}

// chunk is how much is written at a time, in ascending order.
const chunk = 1 << 20

// put makes the content of file be data, where it now holds size bytes.
func put(file disk.File, data []byte, size int) error {
	for off := 0; off < len(data); off += chunk {
		if _, err := file.WriteAt(data[off:min(off+chunk, len(data))], int64(off)); err != nil {
			return err
		}
	}
	if len(data) < size {
		if err := file.Truncate(int64(len(data))); err != nil {
			return err
		}
	}
	return file.Sync()
}

func readAll(r io.ReaderAt, size int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(size) + 1)
	_, err := b.ReadFrom(io.NewSectionReader(r, 0, 1<<62))
	return b.Bytes(), err
}

func hash(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

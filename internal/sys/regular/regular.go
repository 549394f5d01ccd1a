// Package regular reads small files that another program may have put there. A pipe
// or a device in the place of a file never holds or floods the reader. It is safe
// for concurrent use.
package regular

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrNotRegular is what errors are for something that is no regular file.
var ErrNotRegular = errors.New("not a regular file")

// Read returns the content of a regular file. One of more than max bytes is an
// error.
func Read(path string, max int64) ([]byte, error) {
	raw, more, err := Head(path, max)
	if err == nil && more {
		return nil, fmt.Errorf("read %s: it has more than %d bytes", path, max)
	}
	return raw, err
}

// Head returns at most the first max bytes of a regular file, and whether there
// are more.
func Head(path string, max int64) (raw []byte, more bool, err error) {
	f, err := Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	raw, err = io.ReadAll(io.LimitReader(f, max+1))
	if int64(len(raw)) > max {
		return raw[:max], true, err
	}
	return raw, false, err
}

// Open opens a regular file for reading.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("read %s: %w", path, ErrNotRegular)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

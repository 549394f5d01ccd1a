// Package blob keeps contents by their hash, so that what a write replaced can be restored.
//
// Trust model: blobs hold whatever the files held, secrets included; Dir keeps them from other users by mode and checks every
// blob it gives out against its name.
//
// A Store is the seam: sessions bring their own, Dir keeps blobs as files, two levels deep, each written once, and many small
// ones in a [Pack]. Blobs are never changed; [Dir.Sweep] deletes those that its caller does not need. Implementations are safe
// for concurrent use, by several processes too.
package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Store keeps contents.
type Store interface {
	// Put keeps b under its Digest, which the caller has at hand.
	Put(ctx context.Context, digest string, b []byte) error
	// Get returns a content, or an error that is fs.ErrNotExist.
	Get(ctx context.Context, digest string) ([]byte, error)
}

// Digest names a content.
func Digest(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// Dir is a Store in a directory, which is made when first needed.
type Dir string

func (d Dir) path(digest string) (string, error) {
	if b, err := hex.DecodeString(digest); err != nil || len(b) != sha256.Size {
		return "", fmt.Errorf("%q is not a digest", digest)
	}
	return filepath.Join(string(d), digest[:2], digest[2:]), nil
}

// Put implements Store. A blob that is there is not written again. It is not synced: losing the way back is no reason to make
// every edit wait for the disk.
func (d Dir) Put(_ context.Context, digest string, b []byte) error {
	return d.put(digest, int64(len(b)), func(to *os.File) error {
		_, err := to.Write(b)
		return err
	})
}

// PutFile keeps the content of an open file, which the caller has read: by sharing its blocks where the file system can
// (reflinks), else as Put does.
func (d Dir) PutFile(_ context.Context, digest string, from *os.File, b []byte) error {
	return d.put(digest, int64(len(b)), func(to *os.File) error {
		if info, err := from.Stat(); err == nil && info.Size() == int64(len(b)) && clone(to, from) == nil {
			return nil // Get finds out if the file was changed meanwhile
		}
		_, err := to.Write(b)
		return err
	})
}

func (d Dir) put(digest string, size int64, fill func(*os.File) error) error {
	path, err := d.path(digest)
	if err != nil {
		return err
	}
	if info, err := os.Lstat(path); err == nil && info.Size() == size && renew(path) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("store content: %w", err)
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("store content: %w", err)
	}
	err = fill(temp)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		os.Remove(temp.Name())
		return fmt.Errorf("store content: %w", err)
	}
	return nil
}

// renew makes a file young, so that a sweep that has begun without knowing who needs it now leaves it. False means that the
// sweep was faster.
func renew(path string) bool {
	now := time.Now()
	return os.Chtimes(path, now, now) == nil
}

// Get implements Store. A damaged blob is an error, not a content.
func (d Dir) Get(_ context.Context, digest string) ([]byte, error) {
	path, err := d.path(digest)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return d.getPacked(digest)
	}
	if err != nil {
		return nil, fmt.Errorf("find stored content: %w", err)
	}
	if Digest(b) != digest {
		return nil, fmt.Errorf("the stored content %s is damaged: %w", digest, fs.ErrInvalid)
	}
	return b, nil
}

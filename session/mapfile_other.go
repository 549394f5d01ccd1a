//go:build !unix

package session

import (
	"os"

	"github.com/haftdev/haft/internal/sys/regular"
)

// mapFile returns the beginning of a file.
func mapFile(path string, size int64) ([]byte, error) {
	raw, err := regular.Read(path, 1<<40)
	if err != nil {
		return nil, err
	}
	if int64(len(raw)) < size {
		return nil, os.ErrInvalid
	}
	return raw[:size], nil
}

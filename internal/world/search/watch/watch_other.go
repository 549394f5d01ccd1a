//go:build !linux

package watch

import (
	"errors"

	"github.com/haftdev/haft/internal/world/search/tree"
)

// New reports that this system cannot announce changes reliably.
func New() (tree.Watcher, error) {
	return nil, errors.New("watching directories is not supported on this system")
}

//go:build !linux

package watch

import "github.com/haftdev/haft/internal/search/tree"

// New reports [ErrUnsupported].
func New() (tree.Watcher, error) { return nil, ErrUnsupported }

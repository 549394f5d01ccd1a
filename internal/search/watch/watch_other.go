//go:build !linux

package watch

import "github.com/haftdev/haft/internal/search/tree"

// New reports [errUnsupported].
func New() (tree.Watcher, error) { return nil, errUnsupported }

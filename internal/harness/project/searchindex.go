package project

import (
	"path/filepath"

	"github.com/haftdev/haft/internal/world/workspace"
)

// SearchIndexes is the folder of what searches have learnt of folders. It may be deleted at any time.
func SearchIndexes() string { return filepath.Join(workspace.StateDir(), "search") }

package cli

import (
	"path/filepath"
	"strings"
)

// isBundle reports whether an argument is the file of a bundle.
func isBundle(arg string) bool {
	ext := strings.ToLower(filepath.Ext(arg))
	return (ext == ".mcpb" || ext == ".dxt") && !strings.Contains(arg, "://")
}

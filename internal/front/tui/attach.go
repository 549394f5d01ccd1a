package tui

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

func imageMark(n int) string { return fmt.Sprintf("[image %d]", n) }

// pathOf is the path of an address of a file, or the path itself.
func pathOf(name string) string {
	if u, err := url.Parse(name); err == nil && u.Scheme == "file" {
		return filepath.FromSlash(u.Path)
	}
	return name
}

// isImage reports whether a path is that of a picture that is there.
func isImage(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular()
	}
	return false
}

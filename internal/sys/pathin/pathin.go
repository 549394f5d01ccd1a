// Package pathin answers one question for everything that guards, confines or
// scopes: is a path a folder, or below it? The answer is about names alone. Who must
// not be led astray by links resolves them first.
//
// Paths are cleaned before they are compared, so neither a trailing separator nor
// ".." inside one makes a difference, and names count whole: /ab is not in /a. An
// absolute path is not in a relative folder, nor the other way round. An empty path
// is nowhere, and an empty folder holds nothing.
//
// Whether case matters depends on what the answer is for. [Contains] is for what is
// allowed below a folder: it tells cases apart, except on Windows, where no file
// system does, so that on a Mac another spelling of a folder is outside and is asked
// about. [ContainsFold] is for what is forbidden below a folder: it takes all
// spellings for the same, because a file system may.
package pathin

import (
	"path/filepath"
	"runtime"
	"strings"
)

// Contains reports whether path is dir or below it.
func Contains(dir, path string) bool {
	_, ok := below(dir, path, runtime.GOOS == "windows")
	return ok
}

// ContainsFold is [Contains] where upper and lower case are the same.
func ContainsFold(dir, path string) bool {
	_, ok := below(dir, path, true)
	return ok
}

// Below returns what is left of path below dir, "" if they are the same.
func Below(dir, path string) (rest string, ok bool) {
	return below(dir, path, runtime.GOOS == "windows")
}

// BelowFold is [Below] where upper and lower case are the same.
func BelowFold(dir, path string) (rest string, ok bool) { return below(dir, path, true) }

const separator = string(filepath.Separator)

func below(dir, path string, fold bool) (rest string, ok bool) {
	if dir == "" || path == "" || filepath.IsAbs(dir) != filepath.IsAbs(path) {
		return "", false
	}
	dir, path = filepath.Clean(dir), filepath.Clean(path)
	if dir == "." {
		return inHere(path)
	}
	dir = strings.TrimSuffix(dir, separator) // of a root
	path = strings.TrimSuffix(path, separator)
	for {
		d, dirRest, more := strings.Cut(dir, separator)
		p, pathRest, deeper := strings.Cut(path, separator)
		if d != p && !(fold && strings.EqualFold(d, p)) {
			return "", false
		}
		switch {
		case !more && !deeper:
			return "", true
		case !more:
			if up(pathRest) { // of .. and ../..
				return "", false
			}
			return pathRest, true
		case !deeper:
			return "", false
		}
		dir, path = dirRest, pathRest
	}
}

// inHere is below for the folder ".".
func inHere(path string) (string, bool) {
	switch {
	case path == ".":
		return "", true
	case up(path):
		return "", false
	}
	return path, true
}

// up reports whether a clean path begins by leaving the folder that it starts from.
func up(path string) bool { return path == ".." || strings.HasPrefix(path, ".."+separator) }

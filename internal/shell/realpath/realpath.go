// Package realpath resolves symbolic links as [filepath.EvalSymlinks] does, at the cost of two
// system calls where there are none to resolve, which is so of most paths: the kernel is asked
// whether the path has any, instead of each of its parts.
package realpath

import "path/filepath"

// Eval returns the path without symbolic links. What is not there is an error.
func Eval(path string) (string, error) {
	if path != "" && linkless(path) {
		return filepath.Clean(path), nil
	}
	return filepath.EvalSymlinks(path)
}

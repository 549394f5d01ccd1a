//go:build !unix

package shellrun

// No command runs here, so none is anywhere.

func enterable(dir string) bool { return isDir(dir) }

func readDir(string) (string, bool) { return "", false }

//go:build !unix

package keep

import "io/fs"

// mayWrite leaves it to the write.
func mayWrite(string) bool { return true }

// private takes the temporary directory for the user's own.
func private(info fs.FileInfo) bool { return info.IsDir() }

//go:build !unix

package openfiles

// limit is what a process usually may open.
func limit() int { return 1024 }

//go:build !linux

package realpath

func linkless(string) bool { return false }

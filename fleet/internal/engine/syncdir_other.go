//go:build !unix

package engine

// syncDir does nothing where folders cannot be synced.
func syncDir(string) error { return nil }

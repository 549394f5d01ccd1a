//go:build !linux && !darwin && !freebsd

package engine

// diskSpace is not known here.
func diskSpace(string) (size, free int64, ok bool) { return 0, 0, false }

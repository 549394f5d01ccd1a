package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// notThere tells a pack that is gone or is not what was stored from a store that is away.
func notThere(err error, p *Point) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return &DamagedError{fmt.Sprintf("the files that were stored after call %q cannot be read: %v", p.Call, err)}
	}
	return err
}

// diskOr is damage unless it is the disk of this machine that is full.
func diskOr(err, damage error) error {
	if DiskFull(err) {
		return err
	}
	return damage
}

// DiskFull reports whether an error says that the disk of this machine is full.
func DiskFull(err error) bool {
	return err != nil && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		strings.Contains(err.Error(), "No space left on device") || strings.Contains(err.Error(), "Disk quota exceeded"))
}

// explain says what a user can do about an error on this machine.
func explain(err error, dir string) error {
	if DiskFull(err) {
		return fmt.Errorf("the disk of the worker's machine is full: free some space for %s (%w)", dir, err)
	}
	return err
}

//go:build !unix

package tui

import "errors"

// Suspend is not possible here.
func (t *Terminal) Suspend() error { return errors.New("programs cannot be suspended here") }

//go:build !unix

package cli

import "io"

// stdoutClosed does not know: what is written shows it.
func stdoutClosed(io.Writer) <-chan struct{} { return nil }

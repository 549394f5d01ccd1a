//go:build unix

package tui

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Resized returns a channel that delivers the terminal's size whenever it changes, until ctx
// is cancelled.
func (t *Terminal) Resized(ctx context.Context) <-chan Size {
	sizes, signals := make(chan Size, 1), make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGWINCH)
	go func() {
		defer signal.Stop(signals)
		for {
			select {
			case <-signals:
			case <-ctx.Done():
				return
			}
			select {
			case sizes <- t.Size():
			case <-ctx.Done():
				return
			}
		}
	}()
	return sizes
}

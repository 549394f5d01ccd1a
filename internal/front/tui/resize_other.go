//go:build !unix

package tui

import (
	"context"
	"time"
)

// Resized brings the terminal's size whenever it changes, until ctx ends. There is
// no signal for it here, so it is looked at now and then.
func (t *Terminal) Resized(ctx context.Context) <-chan Size {
	sizes := make(chan Size, 1)
	go func() {
		for last := t.Size(); ; {
			select {
			case <-time.After(500 * time.Millisecond):
			case <-ctx.Done():
				return
			}
			if now := t.Size(); now != last {
				last = now
				select {
				case sizes <- now:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return sizes
}

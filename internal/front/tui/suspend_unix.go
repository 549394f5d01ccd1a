//go:build unix

package tui

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Suspend gives the terminal back and stops the process, as ctrl+z does with other
// programs, until the shell lets it go on.
func (t *Terminal) Suspend() error {
	back, err := t.lend()
	if err != nil {
		return err
	}
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, syscall.SIGCONT)
	defer signal.Stop(goesOn)
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return errors.Join(err, back())
	}
	select {
	case <-goesOn:
	case <-time.After(time.Second): // where no shell controls jobs nothing is stopped
	}
	return back()
}

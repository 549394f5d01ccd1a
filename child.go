package haft

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/haftdev/haft/wire"
)

// A child is the Link to a command line that runs.
type child struct {
	wire.Stream
	cmd     *exec.Cmd
	grace   time.Duration
	stdin   *os.File
	stdout  *outlet
	tail    tail
	readers sync.WaitGroup

	closing sync.Once
	exited  chan struct{} // closed after the process has ended
	status  error         // of exec.Cmd.Wait, set before
}

// CloseWrite closes the process's input.
func (c *child) CloseWrite() error {
	if err := c.stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("close input: %w", err)
	}
	return nil
}

// Wait waits for the process to end by itself.
func (c *child) Wait() error {
	<-c.exited
	c.readers.Wait()
	c.stdin.Close()
	c.stdout.file.Close()
	if c.status == nil {
		return nil
	}
	return &ExitError{Code: c.cmd.ProcessState.ExitCode(), Status: c.status.Error(), Stderr: c.tail.String()}
}

// Close ends the process: it closes its input, waits, asks it to terminate,
// waits, and kills it and its group.
func (c *child) Close() error {
	c.closing.Do(func() {
		_ = c.CloseWrite()
		if c.endedWithin(c.grace) {
			return
		}
		_ = terminate(c.cmd.Process) // if that is impossible, it is killed next
		if c.endedWithin(c.grace) {
			return
		}
		killGroup(c.cmd.Process)
	})
	_ = c.Wait() // we asked it to exit, so its status is uninteresting
	return nil
}

func (c *child) endedWithin(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c.exited:
		return true
	case <-t.C:
		return false
	}
}

// reap waits for the process to end. Its last output is still in the pipes; reap does not
// wait for what its own children keep open.
func (c *child) reap(stderr *outlet) {
	c.status = c.cmd.Wait()
	close(c.exited)
	c.stdout.writerEnded()
	stderr.writerEnded()
}

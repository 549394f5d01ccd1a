//go:build unix

package cli

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// stdoutClosed returns a channel that is closed when the reader of out is gone: the program
// that started haft has ended, and no one needs the answer any more.
func stdoutClosed(out io.Writer) <-chan struct{} {
	file, ok := out.(*os.File)
	if !ok {
		return nil
	}
	gone := make(chan struct{})
	go func() {
		fds := []unix.PollFd{{Fd: int32(file.Fd())}} // no events: only errors and hang-ups count
		for {
			n, err := unix.Poll(fds, -1)
			if err == unix.EINTR || err == unix.EAGAIN {
				continue
			}
			if n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
				close(gone)
			}
			return
		}
	}()
	return gone
}

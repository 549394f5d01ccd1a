package harness

import (
	"context"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// runConfined is [exec.Cmd.Run] through a runner that confines.
func runConfined(ctx context.Context, runner shellrun.Runner, cmd *exec.Cmd, box *sandbox.Spec) (int, error) {
	if cmd.Err != nil {
		return 0, cmd.Err
	}
	var theirs [3]*os.File
	var copies sync.WaitGroup
	defer func() {
		for _, f := range theirs {
			if f != nil {
				f.Close()
			}
		}
	}()
	input, ours, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	theirs[0] = input
	var outputs []*os.File
	for i, to := range []io.Writer{cmd.Stdout, cmd.Stderr} {
		from, end, err := os.Pipe()
		if err != nil {
			ours.Close()
			return 0, err
		}
		theirs[i+1] = end
		outputs = append(outputs, from)
		copies.Go(func() { _, _ = io.Copy(to, from) })
	}
	process, err := runner.Start(shellrun.Command{Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Input: theirs[0], Output: theirs[1], Errors: theirs[2], Box: box})
	for i, f := range theirs { // the process has its own
		f.Close()
		theirs[i] = nil
	}
	defer func() {
		for _, f := range outputs {
			f.Close()
		}
	}()
	if err != nil {
		ours.Close()
		copies.Wait()
		return 0, err
	}
	go func() {
		_, _ = io.Copy(ours, cmd.Stdin) // a hook that reads nothing closes its end
		ours.Close()
	}()
	select {
	case <-process.Done():
	case <-ctx.Done():
		process.End(cmd.WaitDelay)
		<-process.Done()
	}
	within(&copies, cmd.WaitDelay)
	status := process.Status()
	return status.Code, status.Err
}

// within waits for copies of output, which a process that was left behind may delay.
func within(copies *sync.WaitGroup, patience time.Duration) {
	done := make(chan struct{})
	go func() { copies.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
	}
}

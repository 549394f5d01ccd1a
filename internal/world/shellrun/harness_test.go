package shellrun

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// harnessEnv makes the test binary a harness: it runs the command given there
// and waits to be killed.
const harnessEnv = "SHELLRUN_TEST_HARNESS"

// holdEnv is the file that it locks and has held for the command.
const holdEnv = "SHELLRUN_TEST_HOLD"

func harnessMain(reexec Reexec) {
	opts := &Options{Reexec: reexec, NoProfile: true, NoCgroup: os.Getenv("SHELLRUN_TEST_NOCGROUP") != "", Environ: os.Environ(), EnvNames: []string{markerEnv}}
	if path := os.Getenv(holdEnv); path != "" {
		opts.Hold = func() (*os.File, error) { return lockedFile(path) }
	}
	confineSuite(opts)
	h := NewHost(opts)
	go func() {
		if _, err := h.NewShell("/").Run(context.Background(), Request{Command: os.Getenv(harnessEnv)}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	fmt.Println("started")
	// The end of standard input is the end of the test that started this.
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	time.Sleep(time.Hour)
}

// lockedFile opens a file that nobody else has locked.
func lockedFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil && !lock(file) {
		return nil, errors.Join(errors.New("others have it locked"), file.Close())
	}
	return file, err
}

// markerEnv marks the processes of one test in their environment.
const markerEnv = "SHELLRUN_TEST_MARKER"

package shellrun

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"time"
)

// harnessEnv makes the test binary a harness: it runs the command given there
// and waits to be killed.
const harnessEnv = "SHELLRUN_TEST_HARNESS"

func harnessMain(reexec Reexec) {
	h := NewHost(&Options{Reexec: reexec, NoProfile: true, NoCgroup: os.Getenv("SHELLRUN_TEST_NOCGROUP") != "", Environ: os.Environ(), EnvNames: []string{markerEnv}})
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

// markerEnv marks the processes of one test in their environment.
const markerEnv = "SHELLRUN_TEST_MARKER"

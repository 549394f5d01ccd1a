package shellrun

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Whoever waits for the lock that a killed harness has left with its keeper finds
// nothing of its commands any more, however they cling to life.
func TestAFileIsHeldUntilNothingOfTheCommandIsLeft(t *testing.T) {
	for _, noCgroup := range []string{"", "1"} {
		t.Run("nocgroup="+noCgroup, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			mark := fmt.Sprintf("3600.0%012d", rand.Uint64N(1e12))
			ready, held := filepath.Join(dir, "ready"), filepath.Join(dir, "held")
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), holdEnv+"="+held, "SHELLRUN_TEST_NOCGROUP="+noCgroup, "TMPDIR="+dir,
				harnessEnv+"=trap '' TERM; (setsid bash -c 'while :; do sleep 0.01; done' "+mark+" &); : >"+quote(ready)+"; while :; do sleep 0.01; done")
			input, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer input.Close()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if !awaitFile(ready) {
				t.Error("the command did not start")
			}
			awaitMarked(t, mark, 2)
			file, err := os.OpenFile(held, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			if lock(file) {
				t.Error("the file is not held while the harness lives")
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			for deadline := time.Now().Add(20 * time.Second); !lock(file); time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the file is held for ever")
				}
			}
			expectNone(t, mark, 0)
		})
	}
}

func TestAFileIsGivenBackWithTheCommand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "held")
	h := newTestHost(t, func(o *Options) { o.Hold = func() (*os.File, error) { return lockedFile(path) } })
	for range 3 {
		run(t, h.NewShell("/"), "true") // which has the lock to itself
	}
	task, err := h.NewShell("/").Start(t.Context(), Request{Command: "sleep 600"})
	if err != nil {
		t.Fatal(err)
	}
	if file, err := lockedFile(path); err == nil {
		file.Close()
		t.Error("the file is not held while a command runs")
	}
	task.Stop()
	file, err := lockedFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
}

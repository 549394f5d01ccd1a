package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/needtest"
)

// The question is about what a command changed, and an answer to it needs no second run.
func TestAPersonIsShownWhatACommandChanged(t *testing.T) {
	needtest.Need(t, needtest.Overlay)
	s := newSeat(t, calls("Bash", in{"command": "echo $$ > one"}), says("Made it."))
	s.plain = true
	s.start("--plain")
	s.type_("make one\r")
	s.see("Apply the changes that this command made?")
	s.see("0 changed, 1 added, 0 deleted")
	s.see("allows this change")
	time.Sleep(400 * time.Millisecond) // what comes at once is no answer
	s.type_("y\r")
	s.see("Made it.")
	raw, err := os.ReadFile(filepath.Join(s.dir, "one"))
	if err != nil {
		t.Fatal(err)
	}
	s.see("+" + strings.TrimSpace(string(raw))) // the process that wrote it is the one that was shown
	s.type_("/exit\r")
	if err := s.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// A preview that is stopped ends as any other work that is stopped, and drops the changes.
func TestAPreviewThatIsStopped(t *testing.T) {
	needtest.Need(t, needtest.Overlay)
	s := newSeat(t)
	cmd := s.command("preview", "--yes", "--", fmt.Sprintf("touch made; sleep %d.5", os.Getpid()))
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = nil, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	running := fmt.Sprintf("sleep\x00%d.5\x00", os.Getpid()) // as the kernel lists it
	isIt := func(line string) bool {
		raw, err := os.ReadFile(line)
		return err == nil && string(raw) == running
	}
	begun := time.Now()
	for lines := []string(nil); !slices.ContainsFunc(lines, isIt); time.Sleep(10 * time.Millisecond) {
		lines, _ = filepath.Glob("/proc/[0-9]*/cmdline")
		if time.Since(begun) > 30*time.Second {
			_ = cmd.Process.Kill()
			t.Fatalf("the command does not run: %s", said.String())
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its code is looked at
	if _, err := os.Stat(filepath.Join(s.dir, "made")); cmd.ProcessState.ExitCode() != 130 || err == nil || said.String() != "The command was stopped, and its changes are dropped.\n" {
		t.Errorf("code %d, made: %v: %s", cmd.ProcessState.ExitCode(), err, said.String())
	}
}

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/needtest"
)

// The question is about what a command changed, and an answer to it needs no second run.
func TestAPersonIsShownWhatACommandChanged(t *testing.T) {
	s := newSeat(t, calls("Bash", in{"command": "echo $$ > one"}), says("Made it."))
	if out, err := s.command("preview", "--", "true").CombinedOutput(); err != nil {
		needtest.Missing(t, "no box here: %s", out)
	}
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

//go:build linux || darwin

package cli_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// beside is another terminal of the same user in the same folder.
func (s *seat) beside(args ...string) *seat {
	s.t.Helper()
	s.until("be watchable", func() (found bool) {
		_ = filepath.WalkDir(s.home, func(path string, _ fs.DirEntry, _ error) error {
			found = found || filepath.Base(path) == "live.json"
			return nil
		})
		return found
	})
	b := &seat{t: s.t, dir: s.dir, home: s.home, url: s.url}
	b.launch(args...)
	b.see("Attached to ")
	return b
}

// Ctrl-C in an attached terminal stops the turn and not the terminal, which Ctrl-D leaves.
func TestCtrlCInAnAttachedTerminal(t *testing.T) {
	slow := says(strings.Repeat("word and word\n\n", 4000))
	slow.Delta, slow.Chunk = 20, 10
	s := newSeat(t, slow, says("Good, then not."))
	s.start()
	s.type_("talk\r")
	s.see("word and word")
	b := s.beside("attach")
	b.see("Ctrl-C interrupts the turn. Ctrl-D leaves; the session continues.")
	b.see("> talk")
	b.type_("\x03")
	b.see("Interrupting the turn.")
	b.see("! interrupted")
	s.see("Interrupted. What should haft do instead?")
	b.see("[error_during_execution") // the turn has ended
	b.type_("\x03")
	b.see("No turn is running. Ctrl-D leaves; the session continues.")
	b.type_("stop it\r")
	b.see("Good, then not.")
	s.see("Good, then not.")
	if text := b.screen(); !strings.HasPrefix(text, "Attached to ") || strings.Contains(text, "Request interrupted") {
		t.Errorf("the attached terminal shows\n%s", text)
	}
	b.type_("\x04")
	if err := b.cmd.Wait(); err != nil {
		t.Errorf("haft attach ended with %v", err)
	}
	s.leave()
}

// A terminal that leaves a question does not answer it.
func TestAnAttachedTerminalLeavesAQuestion(t *testing.T) {
	s := newSeat(t, calls("Write", in{"file_path": "a.txt", "content": "hello\n"}), says("It was written."))
	s.start()
	s.type_("write it\r")
	s.see("tab: go to this question")
	b := s.beside("attach")
	b.see("n [reason]: deny >")
	before, _, _ := strings.Cut(b.screen(), "Asked because")
	if text := b.screen(); !strings.HasPrefix(text, "Attached to ") || !strings.Contains(before, "● Write") {
		t.Errorf("the attached terminal shows\n%s", text)
	}
	b.type_("\x04")
	if err := b.cmd.Wait(); err != nil {
		t.Errorf("haft attach ended with %v", err)
	}
	s.turnTo()
	s.type_("y")
	s.see("It was written.")
	s.leave()
}

// Ctrl-C at a question stops the turn that asks.
func TestCtrlCAtAnAttachedQuestion(t *testing.T) {
	s := newSeat(t, calls("Write", in{"file_path": "a.txt", "content": "hello\n"}), says("Then not."))
	s.start()
	s.type_("write it\r")
	s.see("tab: go to this question")
	b := s.beside("attach")
	b.see("n [reason]: deny >")
	b.type_("\x03")
	b.see("(an answer is no longer needed)")
	b.see("! interrupted")
	s.see("Interrupted. What should haft do instead?")
	b.type_("leave it\r")
	b.see("Then not.")
	b.type_("\x04")
	if err := b.cmd.Wait(); err != nil {
		t.Errorf("haft attach ended with %v", err)
	}
	s.leave()
}

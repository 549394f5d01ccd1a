//go:build linux || darwin

package cli_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
)

// Ctrl-C at a question ends the command, which says once what did not happen.
func TestCtrlCAtAQuestion(t *testing.T) {
	for _, c := range []struct {
		args        []string
		asked, says string
	}{
		{[]string{"trust"}, "Trust 1 item, exactly as shown? [y/N]", "Nothing was trusted. To trust it later, run 'haft trust' again."},
		{[]string{"preview", "--", "echo hi > new"}, "Apply these changes? [y/N]", "Dropped: nothing was changed."},
		{[]string{"demo"}, "q: quit):", "Interrupted."},
		{[]string{"demo", "preview"}, "enter: allow · n: deny >", "Interrupted."},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			if c.args[0] == "preview" || len(c.args) == 2 {
				needtest.Need(t, needtest.Overlay)
			}
			s := newSeat(t)
			s.rows, s.columns = 60, 200
			if err := os.MkdirAll(filepath.Join(s.dir, ".claude"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(s.dir, ".claude", "settings.json"), []byte(`{"permissions": {"allow": ["Bash(make)"]}}`), 0o600); err != nil {
				t.Fatal(err)
			}
			s.launch(c.args...)
			s.see(c.asked)
			if _, err := s.tty.WriteString("\x03"); err != nil {
				t.Fatal(err)
			}
			s.see(c.says)
			var exit *exec.ExitError
			if err := s.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
				t.Errorf("ended with %v, want exit code 130", err)
			}
			_, after, _ := strings.Cut(s.screen(), c.asked)
			if got := strings.TrimSpace(strings.Replace(after, "^C", "", 1)); got != c.says {
				t.Errorf("after the question:\n%s\nwant only %q", got, c.says)
			}
		})
	}
}

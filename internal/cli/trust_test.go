//go:build linux || darwin

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTrustAsksOnATerminal answers the question of haft trust, first with no.
func TestTrustAsksOnATerminal(t *testing.T) {
	s := newSeat(t)
	if err := os.MkdirAll(filepath.Join(s.dir, ".claude"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, ".claude", "settings.json"), []byte(`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	trusted := func() bool {
		cmd := exec.Command(s.cmd.Path, "trust", "--json")
		cmd.Dir, cmd.Env = s.dir, s.cmd.Env
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(out), `"trusted": true`)
	}
	for _, c := range []struct {
		key, says string
		want      bool
	}{{"\r", "Nothing was trusted", false}, {"n\r", "Nothing was trusted", false}, {"y\r", "To revoke it, run", true}} {
		s.start("trust")
		s.see("Trust 1 item, exactly as shown? [y/N]")
		if _, err := s.tty.WriteString(c.key); err != nil {
			t.Fatal(err)
		}
		s.see(c.says)
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("answer %q: %v", c.key, err)
		}
		if trusted() != c.want {
			t.Errorf("answer %q: trusted %v", c.key, !c.want)
		}
	}
}

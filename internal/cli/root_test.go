//go:build unix

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
)

// TestRootDoesNotAskNobodyByAccident starts haft as root in the mode that asks nobody,
// by flag and by settings, with and without a word that this is meant.
func TestRootDoesNotAskNobodyByAccident(t *testing.T) {
	needtest.Need(t, needtest.Root)
	haft := haftCommand(t)
	for _, c := range []struct {
		name, settings, sandbox string
		args                    []string
		refused                 bool
	}{
		{"a flag", "{}", "", []string{"--dangerously-skip-permissions"}, true},
		{"a mode", "{}", "", []string{"--permission-mode", "bypassPermissions"}, true},
		{"settings", `{"permissions": {"defaultMode": "bypassPermissions"}}`, "", nil, true},
		{"another value", "{}", "IS_SANDBOX=0", []string{"--dangerously-skip-permissions"}, true},
		{"a sandbox", "{}", "IS_SANDBOX=1", []string{"--dangerously-skip-permissions"}, false},
		{"a word", "{}", "", []string{"--dangerously-skip-permissions", "--i-know"}, false},
		{"another mode", "{}", "", []string{"--permission-mode", "acceptEdits"}, false},
		{"a mode that settings switch off", `{"permissions": {"defaultMode": "bypassPermissions", "disableBypassPermissionsMode": "disable"}}`, "", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			if err := os.MkdirAll(filepath.Join(home, ".claude"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(home, ".claude", "settings.json"), []byte(c.settings), 0o600); err != nil {
				t.Fatal(err)
			}
			// Nothing listens at the address: a session that begins fails by that.
			cmd := exec.Command(haft, append([]string{"-p", "go"}, c.args...)...)
			cmd.Dir = t.TempDir()
			cmd.Env = bareEnv(home, "ANTHROPIC_API_KEY=none", "ANTHROPIC_BASE_URL=http://127.0.0.1:1", "CLAUDE_CODE_MAX_RETRIES=0", c.sandbox)
			out, _ := cmd.CombinedOutput()
			refused := strings.Contains(string(out), "is not available to root") && cmd.ProcessState.ExitCode() == 2
			if refused != c.refused {
				t.Errorf("refused %v, want %v (exit code %d): %s", refused, c.refused, cmd.ProcessState.ExitCode(), out)
			}
			if c.refused && strings.Count(string(out), "\n") != 1 {
				t.Errorf("it is not one line: %s", out)
			}
		})
	}
}

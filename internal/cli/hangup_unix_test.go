//go:build unix

package cli_test

import (
	"bufio"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model/script"
)

// A terminal that is closed ends what ran in it, with a result; who was started by
// nohup continues.
func TestHangUp(t *testing.T) {
	// What is ignored is inherited, what is handled is not: the tests themselves may
	// have been started by nohup.
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP)
	defer signal.Stop(heard)
	for _, c := range []struct {
		name, command string
		before        []string
		code          int
	}{
		{"ends the turn with a result", "sleep 600", nil, 143},
		{"is nothing to who was told to ignore it", "while [ ! -e over ]; do sleep 0.05; done", []string{"nohup"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, err := scripttest.Serve(t, &script.Options{Scenario: &script.Scenario{Turns: []script.Turn{
				{Blocks: []script.Block{{Tool: "Bash", Input: []byte(`{"command":"` + c.command + `"}`)}}},
				{Blocks: []script.Block{{Text: "done"}}},
			}}})
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			home := t.TempDir()
			args := append(c.before, haftCommand(t), "-p", "--permission-mode", "bypassPermissions", "--output-format", "stream-json", "--verbose", "go")
			haft := exec.Command(args[0], args[1:]...)
			haft.Dir = t.TempDir()
			haft.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+home+"/.cache", "XDG_CONFIG_HOME="+home+"/.config",
				"ANTHROPIC_BASE_URL="+server.URL(), "ANTHROPIC_API_KEY=x")
			out, err := haft.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := haft.Start(); err != nil {
				t.Fatal(err)
			}
			results := 0
			for lines := bufio.NewScanner(out); lines.Scan(); {
				switch line := lines.Text(); {
				case strings.Contains(line, `"type":"tool_use"`):
					if err := haft.Process.Signal(syscall.SIGHUP); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(haft.Dir+"/over", nil, 0o644); err != nil {
						t.Fatal(err)
					}
				case strings.HasPrefix(line, `{"type":"result"`):
					results++
				}
			}
			_ = haft.Wait() // its code is looked at
			if code := haft.ProcessState.ExitCode(); code != c.code || results != 1 {
				t.Errorf("exit code %d with %d results, want %d with 1", code, results, c.code)
			}
		})
	}
}

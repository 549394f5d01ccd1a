package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/model/script"
)

// TestOneAnswerEndsOnce runs haft -p while a command works in the background: it
// ends when the answer is there, with one result, and takes the command along.
func TestOneAnswerEndsOnce(t *testing.T) {
	for name, command := range map[string]string{"a command that goes on": "sleep 600", "one that ends meanwhile": "sleep 0.2; echo over"} {
		for _, format := range []string{"text", "json"} {
			t.Run(name+" as "+format, func(t *testing.T) {
				input, err := json.Marshal(map[string]any{"command": command, "run_in_background": true})
				if err != nil {
					t.Fatal(err)
				}
				server, err := script.Serve(&script.Options{Scenario: &script.Scenario{Turns: []script.Turn{
					{Blocks: []script.Block{{Tool: "Bash", Input: input}}},
					{TTFT: 400, Blocks: []script.Block{{Text: "it runs"}}},
				}}})
				if err != nil {
					t.Fatal(err)
				}
				defer server.Close()
				home := t.TempDir()
				haft := exec.Command(haftCommand(t), "-p", "--permission-mode", "bypassPermissions", "--output-format", format, "go")
				haft.Dir = t.TempDir()
				haft.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+home+"/.cache", "XDG_CONFIG_HOME="+home+"/.config",
					"ANTHROPIC_BASE_URL="+server.URL(), "ANTHROPIC_API_KEY=x")
				began := time.Now()
				out, err := haft.Output()
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > 30*time.Second {
					t.Errorf("it took %v", took)
				}
				if n := strings.Count(strings.TrimSpace(string(out)), "\n"); n != 0 {
					t.Errorf("more than one result:\n%s", out)
				}
			})
		}
	}
}

func TestAnAnswerThatCannotBeWrittenIsNoSuccess(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full here")
	}
	defer full.Close()
	server, err := script.Serve(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for _, format := range []string{"text", "json"} {
		home := t.TempDir()
		haft := exec.Command(haftCommand(t), "-p", "--output-format", format, "go")
		haft.Dir, haft.Stdout = t.TempDir(), full
		var complaint strings.Builder
		haft.Stderr = &complaint
		haft.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+home+"/.cache", "XDG_CONFIG_HOME="+home+"/.config",
			"ANTHROPIC_BASE_URL="+server.URL(), "ANTHROPIC_API_KEY=x")
		if err := haft.Run(); err == nil || !strings.Contains(complaint.String(), "write the answer") {
			t.Errorf("%s: error %v, %q", format, err, complaint.String())
		}
	}
}

//go:build unix

package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/scripttest"
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
				server, err := scripttest.Serve(t, &script.Options{Scenario: &script.Scenario{Turns: []script.Turn{
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
				var told strings.Builder
				haft.Stderr = &told
				began := time.Now()
				out, err := haft.Output()
				if err != nil {
					t.Fatal(err)
				}
				if ended := strings.Contains(told.String(), "note: the session ended with the answer"); ended != strings.Contains(command, "600") {
					t.Errorf("told %q", told.String())
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
	server, err := scripttest.Serve(t, nil)
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

// A command that overstays its time ends there, and the model hears of it: nobody will
// be told of its end later.
func TestOneAnswerMovesNothingToTheBackground(t *testing.T) {
	s := newStage(t)
	server := scripted(t, &script.Scenario{Turns: []script.Turn{
		{Blocks: []script.Block{{Tool: "Bash", Input: []byte(`{"command":"sleep 600; echo late","timeout":500}`)}}},
		{Blocks: []script.Block{{Text: "It took too long."}}},
	}})
	haft := s.haft(server.URL(), "-p", "go", "--dangerously-skip-permissions")
	var told strings.Builder
	haft.Stderr = &told
	out, err := haft.Output()
	requests := server.Requests()
	heard := string(requests[len(requests)-1].Body)
	if err != nil || string(out) != "It took too long.\n" || told.Len() > 0 || !strings.Contains(heard, "It was stopped with everything it started.") {
		t.Errorf("%v: %q, told %q; the model heard %s", err, out, told.String(), heard)
	}
}

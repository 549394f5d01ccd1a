package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/model/script"
)

// TestAKilledSessionNamesItsAgents kills haft while an agent works beside it, and
// goes on: the model is told who is gone.
func TestAKilledSessionNamesItsAgents(t *testing.T) {
	haft, dir, home := haftCommand(t), t.TempDir(), t.TempDir()
	server, err := script.Serve(&script.Options{Keep: 50, Scenario: &script.Scenario{
		Turns: []script.Turn{
			{Blocks: []script.Block{{Tool: "Agent", Input: json.RawMessage(`{"description":"Count stars","prompt":"HANG: count them","run_in_background":true}`)}}},
			{Blocks: []script.Block{{Text: "It counts."}}},
			{Blocks: []script.Block{{Text: "I know."}}},
		},
		Parts: []script.Part{{When: "HANG", Turns: []script.Turn{{Blocks: []script.Block{{Text: "one, two"}, {Text: "three"}}, Fault: script.Fault{Break: script.Hang, After: 4, Times: -1}}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	run := func(args ...string) *exec.Cmd {
		c := exec.Command(haft, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+home+"/.cache", "XDG_CONFIG_HOME="+home+"/.config", "CLAUDE_CONFIG_DIR=",
			"ANTHROPIC_BASE_URL="+server.URL(), "ANTHROPIC_API_KEY=x")
		return c
	}
	first := run("-p", "count the stars")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	journal := func() string {
		files, _ := filepath.Glob(filepath.Join(home, ".claude", "projects", "*", "*.jsonl"))
		if len(files) == 0 {
			return ""
		}
		raw, _ := os.ReadFile(files[0])
		return string(raw)
	}
	for began := time.Now(); !strings.Contains(journal(), "It counts."); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("the first turn never ended; the journal:\n%s", journal())
		}
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // it was killed
	out, err := run("-p", "--continue", "go on").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "I know." {
		t.Fatalf("%v\n%s", err, out)
	}
	requests := server.Requests()
	body := string(requests[len(requests)-1].Body)
	if !strings.Contains(body, "These agents were at work when the session was interrupted") || !strings.Contains(body, "Count stars") {
		t.Errorf("the model does not hear of the agent:\n%s", body)
	}
}

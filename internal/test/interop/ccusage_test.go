package interop_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/script"
)

// TestCcusageCountsASession lets two generations of the tool by which users add their
// tokens up read a session of haft: one counts every line with a usage, the other the
// largest of each answer.
func TestCcusageCountsASession(t *testing.T) {
	old := filepath.Join(needtest.NPM(t, "ccusage@18.0.11"), "node_modules", "ccusage", "dist", "index.js")
	home, project := t.TempDir(), t.TempDir()
	srv, err := scripttest.Serve(t, &script.Options{Scenario: &script.Scenario{Turns: []script.Turn{
		{Blocks: []script.Block{{Text: "I look."}, {Tool: "Bash", Input: json.RawMessage(`{"command":"echo hi"}`)}}, Usage: &model.Usage{Input: 1000, Output: 50}},
		{Blocks: []script.Block{{Text: "Done."}}, Usage: &model.Usage{Input: 2000, Output: 70}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "HOME="+home, "CLAUDE_CONFIG_DIR="+filepath.Join(home, ".claude"), "ANTHROPIC_BASE_URL="+srv.URL(), "ANTHROPIC_API_KEY=sk-ant-scripted", "IS_SANDBOX=1")
	ask := exec.CommandContext(t.Context(), build(t), "-p", "look", "--model", "sonnet", "--dangerously-skip-permissions")
	ask.Dir, ask.Env = project, env
	if out, err := ask.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	programs := map[string]string{"18": old}
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		programs["20"] = filepath.Join(needtest.NPM(t, "ccusage@20.0.24", "@ccusage/ccusage-linux-x64@20.0.24"), "node_modules", "ccusage", "src", "cli.js")
	}
	for version, program := range programs {
		t.Run(version, func(t *testing.T) {
			count := exec.CommandContext(t.Context(), "node", program, "daily", "--json", "--offline")
			count.Dir, count.Env = project, env
			out, err := count.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var found struct {
				Daily  []struct{ ModelsUsed []string }
				Totals struct{ InputTokens, OutputTokens int }
			}
			if err := json.Unmarshal(out, &found); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if len(found.Daily) != 1 || found.Totals.InputTokens != 3000 || found.Totals.OutputTokens != 120 {
				t.Errorf("want one day with 3000 and 120 tokens, got:\n%s", out)
			}
		})
	}
}

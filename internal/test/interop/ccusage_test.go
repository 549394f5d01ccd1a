package interop_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/haftdev/haft/model"
)

// ccusage reads a session of haft. One generation of it counts every line with a usage, the other
// the largest of each answer.
func ccusage(t *testing.T, at *place) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("its program is for other machines")
	}
	looks := runs("echo hi")
	looks.Usage = &model.Usage{Input: 1000, Output: 50}
	ends := says("Done.")
	ends.Usage = &model.Usage{Input: 2000, Output: 70}
	at.model(t, looks, ends)
	at.output(t, at.haft, "-p", "look", "--model", "sonnet", "--dangerously-skip-permissions")
	program := filepath.Join(at.modules, "ccusage", "src", "cli.js")
	if _, err := os.Stat(program); err != nil {
		program = filepath.Join(at.modules, "ccusage", "dist", "index.js")
	}
	out := at.output(t, "node", program, "daily", "--json", "--offline")
	var found struct {
		Daily  []struct{ ModelsUsed []string }
		Totals struct{ InputTokens, OutputTokens int }
	}
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(found.Daily) != 1 || found.Totals.InputTokens != 3000 || found.Totals.OutputTokens != 120 {
		t.Errorf("want one day with 3000 and 120 tokens, got:\n%s", out)
	}
}

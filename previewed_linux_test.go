package haft_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/model/script"
)

// A program that wants previews is asked about what a command changed. The command runs
// once: what it is allowed is the change that it was shown.
func TestAProgramIsShownWhatACommandChanged(t *testing.T) {
	needtest.Need(t, needtest.Overlay)
	built, err := builtHaft()
	if err != nil {
		t.Fatal(err)
	}
	cli := commandLine{built, true}
	dir := t.TempDir()
	gen := filepath.Join(dir, "gen.sh")
	for name, text := range map[string]string{gen: "#!/bin/sh\necho again >> log\necho x > package-lock.json\n", filepath.Join(dir, "log"): "once\n"} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := scripted(t,
		[]script.Block{use("toolu_1", "Bash", object{"command": "./gen.sh"})},
		[]script.Block{use("toolu_2", "Bash", object{"command": "cat ./gen.sh | sh -n && ./gen.sh --again >/dev/null; git checkout -- log 2>/dev/null; true"})},
		[]script.Block{say("Done.")})
	opts := cli.options(t, s)
	opts.Dir, opts.ExtraArgs = dir, append(opts.ExtraArgs, "--preview", "ask")
	var shown []*haft.ToolRequest
	opts.CanUseTool = func(_ context.Context, r *haft.ToolRequest) (*haft.Permission, error) {
		if shown = append(shown, r); len(shown) == 1 {
			return haft.Allow(), nil
		}
		return haft.Deny("not again"), nil
	}
	transcript(t, cli, "generate", opts)
	if len(shown) != 2 || shown[0].Change == nil || !shown[0].Change.Ran {
		t.Fatalf("asked %d times", len(shown))
	}
	raw, _ := json.Marshal(shown[0].Change)
	if len(shown[0].Change.Files) != 2 || !strings.Contains(string(raw), `"+again"`) || !strings.Contains(string(raw), `"folded":"lock file"`) {
		t.Errorf("shown %s", raw)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "log")); string(got) != "once\nagain\n" {
		t.Errorf("the file is %q", got)
	}
}

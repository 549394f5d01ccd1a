package interop_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/model/script"
)

// commandLines are command lines of the reference, with why haft ends otherwise, if it does.
var commandLines = map[string]string{
	"--version": "", "-v": "", "--help": "", "-h": "",
	"-p hi": "", "-p hi --output-format json": "", "-p hi --output-format text": "", "-p hi --output-format stream-json --verbose": "",
	"-p hi --output-format stream-json": "haft needs no --verbose with it", "-p hi --output-format nope": "", "-p hi --max-turns 1": "", "-p hi --max-turns nope": "",
	"-p hi --model haiku": "", "-p hi --permission-mode plan": "", "-p hi --permission-mode acceptEdits": "", "-p hi --permission-mode nope": "",
	"-p hi --allowedTools Read": "", "-p hi --disallowedTools Bash": "", "-p hi --tools Read": "", "-p hi --append-system-prompt x": "",
	"-p hi --system-prompt x": "", "-p hi --session-id nope": "", "-p hi --session-id 11111111-1111-4111-8111-111111111111": "",
	"-p hi --resume nope": "", "-p hi --settings {}": "", "-p hi --settings nowhere.json": "", "-p hi --settings {bad": "",
	"-p hi --setting-sources user": "", "-p hi --setting-sources nope": "", `-p hi --mcp-config {"mcpServers":{}}`: "", "-p hi --mcp-config nowhere.json": "",
	"-p hi --mcp-config {bad": "", "-p hi --strict-mcp-config": "", "-p hi --add-dir /": "", "-p hi --add-dir /nonexist": "a folder that does not exist is a mistake",
	"-p hi --effort low": "", "-p hi --effort nope": "a level that does not exist is a mistake", "-p hi --fallback-model sonnet": "", "-p hi --max-budget-usd 1": "",
	"-p hi --max-budget-usd nope": "", "-p hi --debug": "", "-p hi --verbose": "", "-p hi --agents {}": "", "-p hi --agents {bad": "",
	"-p hi --json-schema {bad": "", "-p hi --no-session-persistence": "", "-p hi --disable-slash-commands": "", "-p hi --safe-mode": "",
	"-p hi --input-format nope": "", "-p hi --nope": "", "-p": "", "-p hi --betas x": "", "-p hi --fork-session": "there is nothing to fork without --resume or --continue", "-p hi --name boats": "",
	"mcp list": "", "mcp get tin": "", "mcp remove tin": "", "mcp add tin -- true": "", "mcp add": "", `mcp add-json tin {"command":"true"}`: "",
	"mcp add-json tin {bad": "", "mcp nope": "", "plugin list": "", "plugin nope": "", "plugin disable nope": "", "plugin uninstall nope": "",
	"plugin marketplace list": "", "plugin marketplace add /nonexist": "", "plugin marketplace remove nope": "", "auth status": "", "auth nope": "",
	"doctor": "", "stop 123": "", "rm 123": "", "logs 123": "", "respawn 123": "", "kill 123": "", "attach 123": "", "auto-mode config": "haft has no such command, and sends none of its words as a prompt",
}

// TestCommandLinesEndAlike runs command lines with haft and the reference: both succeed, or both
// fail, or the list says why not. What is a command there is no prompt here.
func TestCommandLinesEndAlike(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/migrate.md")
	if err != nil {
		t.Fatal(err)
	}
	claude, haft := reference(t), build(t)
	if len(commandLines) < 70 {
		t.Errorf("only %d command lines", len(commandLines))
	}
	for i, line := range slices.Sorted(maps.Keys(commandLines)) {
		why := commandLines[line]
		if why == "" && i%needtest.Every(4) != 0 {
			continue
		}
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			if why != "" && !strings.Contains(string(guide), "| `claude "+line+"` | "+why+" |") {
				t.Errorf("docs/migrate.md does not say: %s", why)
			}
			theirs, _ := end(t, claude, line)
			ours, requests := end(t, haft, line)
			if alike := theirs == ours; alike != (why == "") {
				t.Errorf("the reference succeeds: %t, haft: %t (%s)", theirs, ours, why)
			}
			if !strings.HasPrefix(line, "-p") && requests > 0 {
				t.Errorf("haft sent %d requests", requests)
			}
		})
	}
}

// end runs a command line in a fresh home folder, and reports whether it succeeded, and how many
// requests it made.
func end(t *testing.T, program, line string) (ok bool, requests int) {
	t.Helper()
	server, err := script.Serve(&script.Options{Answer: func(*script.Request) script.Turn {
		return script.Turn{Blocks: []script.Block{{Text: "done"}}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, strings.Fields(line)...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{
		"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "ANTHROPIC_BASE_URL=" + server.URL(), "ANTHROPIC_API_KEY=scripted",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "IS_SANDBOX=1", "TMPDIR=" + t.TempDir(),
	}
	err = cmd.Run()
	if err != nil && !errors.As(err, new(*exec.ExitError)) || ctx.Err() != nil {
		t.Fatalf("%s: %v, %v", program, err, ctx.Err())
	}
	return err == nil, server.Total()
}

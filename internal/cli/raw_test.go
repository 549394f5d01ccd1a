//go:build unix

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoErrorHoldsRawEscapeSequences names servers, files, folders, flags and sessions
// so that their names would clear the screen or set the title, and makes haft complain
// about each.
func TestNoErrorHoldsRawEscapeSequences(t *testing.T) {
	const evil = "x\x1b]0;owned\x07\x1b[2J\u202ey"
	haft := haftCommand(t)
	base := t.TempDir()
	dir := filepath.Join(base, evil)
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(".mcp.json", `{"mcpServers": {"x\u001b[2Jy": {"command": "no-such-program"}, "z": {"command": "\u001b[2J", "type": "\u001b[2J"}}}`)
	write(".claude/settings.json", `{"hooks": {"PreToolUse": [{"matcher": "\u001b[2J", "hooks": [{"type": "command", "command": "\u001b[2J"}]}]}}`)
	for _, args := range [][]string{
		{evil}, {"--" + evil}, {"-p", "go"}, {"-p", "go", "--add-dir", evil}, {"-p", "go", "--settings", evil}, {"-p", "go", "--mcp-config", evil},
		{"-p", "go", "--resume", evil}, {"-p", "go", "--agent", evil, "--ignore-project-hooks"}, {"-p", "go", "--allowedTools", "Bash(" + evil}, {"-p", "go", "--permission-mode", evil},
		{"-p", "go", "--setting-sources", evil}, {"-p", "go", "--model", evil, "--ignore-project-hooks"},
		{"mcp", "get", evil}, {"mcp", "get", "x\x1b[2Jy"}, {"mcp", "reconnect", "x\x1b[2Jy"}, {"mcp", "remove", evil}, {"mcp", "login", evil}, {"mcp", "serve", "--http", evil},
		{"mcp", "serve", "--tools", evil}, {"mcp", "add", evil, "--", evil}, {"tools", "call", evil, "{}"}, {"tools", "describe", evil}, {"trust", evil},
		{"permissions", "add", "deny", "Bash(" + evil}, {"permissions", "explain", evil, "{}"}, {"sessions", "show", evil}, {"rewind", evil, "--to", evil}, {"skills", "show", evil},
		{"agents", "show", evil}, {"commands", "show", evil}, {"doctor"}, {"hooks", "list"}, {"mcp", "list"},
		{"--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--" + evil},
	} {
		cmd := exec.Command(haft, args...)
		cmd.Dir = dir
		cmd.Env = bareEnv(base, "ANTHROPIC_API_KEY=none", "ANTHROPIC_BASE_URL=http://127.0.0.1:1", "CLAUDE_CODE_MAX_RETRIES=0", "HAFT_MCP_TOKEN=x")
		out, err := cmd.CombinedOutput()
		if err == nil && args[0] == evil {
			t.Errorf("haft %q did not complain", args)
		}
		if strings.ContainsAny(string(out), "\x1b\x07\u202e") {
			t.Errorf("haft %q prints raw: %q", args, out)
		}
	}
}

package cli_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/cli"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// TestMistakesOfTheCommandLine shows that a mistake is told of by name and ends with
// 2 before anything is tried, also where something else is missing: here, a key.
func TestMistakesOfTheCommandLine(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("HOME", t.TempDir())
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CONFIG_DIR"} {
		t.Setenv(name, "")
	}
	for flags, want := range map[string]string{
		"--max-turns abc":        `--max-turns: "abc" is not a whole number`,
		"--max-budget-usd abc":   `--max-budget-usd: "abc" is not a number`,
		"--max-time abc":         `--max-time: "abc" is not a duration such as 90s or 10m`,
		"--permission-mode foo":  `--permission-mode: unknown permission mode "foo"`,
		"--resume nope":          `No conversation found with session ID: nope`,
		"--session-id notuuid":   `--session-id: "notuuid" is not a UUID`,
		"--settings {bad":        `--settings: line 1, column 2`,
		"--settings nowhere":     `--settings: open nowhere`,
		"--allowedTools Bash(":   `the rule "Bash(" from the command line`,
		"--disallowedTools rm)x": `the rule "rm)x" from the command line`,
		"--add-dir /nonexist":    `--add-dir: /nonexist is not a folder`,
		"--setting-sources flag": `--setting-sources: "flag" is not a source`,
	} {
		t.Run(flags, func(t *testing.T) {
			var out, err bytes.Buffer
			args := append([]string{"-p"}, strings.Fields(flags)...)
			code := cli.Run(t.Context(), append(args, "--", "hi"), cli.Streams{Out: &out, Err: &err}, shellrun.Reexec{})
			if code != 2 || !strings.Contains(err.String(), want) || out.Len() > 0 {
				t.Errorf("it ended with %d, %q and %q", code, out.String(), err.String())
			}
		})
	}
}

// TestMisspeltCommandsAreNotSent shows that a command with a slip is not taken for a prompt,
// which costs money, and that the way to send one that only looks so works.
func TestMisspeltCommandsAreNotSent(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("HOME", t.TempDir())
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.WriteHeader(http.StatusBadRequest)
	}))
	t.Cleanup(server.Close)
	t.Setenv("ANTHROPIC_BASE_URL", server.URL)
	t.Setenv("ANTHROPIC_API_KEY", "x")
	for _, line := range []string{
		"sesions list", "session list", "sesssions show", "permission list", "permissons explain Bash ls", "hook list", "hoks", "tool list", "tols call Grep x",
		"skill", "agent list", "command list", "plugn install x", "mpc add x", "mcpp list", "trst", "docter", "rewnd now", "previw ls", "sevre here",
		"atach 1", "conect x", "flet status", "dmo", "stlyes", "authh login", "verison", "update", "install", "logs", "rm", "rm 1234", "stop 1234", "kill 1234", "logs 1234", "respawn 1234", "auto-mode config", "auto-mode defaults", "import codex", "install latest",
		"setup-token", "purge .", "ultrareview 12", "upgrade", "gateway", "completions bash", "config", "config set theme dark", "model list", "fix",
	} {
		code, out, errs := run(t.Context(), strings.Fields(line)...)
		if code != 2 || !strings.Contains(errs, "unknown command") || !strings.Contains(errs, "run: haft -- ") || out != "" {
			t.Errorf("haft %s: exit code %d\n%s%s", line, code, out, errs)
		}
	}
	if requests > 0 {
		t.Errorf("%d misspelt commands were sent", requests)
	}
	for n, prompt := range [][]string{{"--", "fix"}, {"--", "sesions list"}, {"demonstrate", "the", "bug"}, {"explain", "the", "code"}, {"-p", "hoks"}} {
		if run(t.Context(), prompt...); requests != n+1 {
			t.Errorf("haft %q sent %d requests", prompt, requests-n)
		}
	}
}

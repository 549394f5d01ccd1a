package launch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/haftdev/haft/internal/headless/launch"
)

// What a session on another machine is given is a list, each flag one word, files by their
// content. Everything else is refused: a flag that was dropped might have been a restriction.
func TestSubmitted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := launch.Submitted([]string{"--model", "sonnet", "--disallowedTools", "Bash", "Web", "--mcp-config", file, "--system-prompt-file=" + file}, true)
	if diff := cmp.Diff([]string{"--disallowedTools=Bash", "--disallowedTools=Web", `--mcp-config={"mcpServers":{}}`, "--model=sonnet", `--system-prompt={"mcpServers":{}}`}, got); diff != "" || err != nil {
		t.Errorf("%s, %v", diff, err)
	}
	if again, err := launch.Submitted(got, false); err != nil || !cmp.Equal(again, got) {
		t.Errorf("what was submitted is %q on the other machine, %v", again, err)
	}
	for want, args := range map[string][]string{
		`"--dissallowedTools" is not a flag`:            {"--dissallowedTools=Bash"},
		`"word" is not a flag`:                          {"word"},
		"--debug-file cannot be used":                   {"--debug-file=/tmp/x"},
		"--session-id cannot be used":                   {"--session-id=x"},
		"--i-know cannot be used":                       {"--i-know"},
		"--chrome cannot be used":                       {"--chrome"},
		"names a file":                                  {"--mcp-config", file},
		"--system-prompt-file cannot be used":           {"--system-prompt-file", file},
		"invalid argument":                              {"--max-turns=many"},
		"--output-format cannot be used for a session ": {"--output-format=text"},
	} {
		if got, err := launch.Submitted(args, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v, want %q", args, got, err, want)
		}
	}
	// A flag that is added to haft is not submitted until someone has decided so.
	flags := pflag.NewFlagSet("haft", pflag.ContinueOnError)
	flags.Bool("new", false, "")
	if err := flags.Parse([]string{"--new"}); err != nil {
		t.Fatal(err)
	}
	if got, err := launch.SubmittedFlags(flags, true, nil); err != nil || len(got) != 0 {
		t.Errorf("a flag of something else: %q, %v", got, err)
	}
}

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
	file := filepath.Join(t.TempDir(), "rule.txt")
	if err := os.WriteFile(file, []byte("Be brief."), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := launch.Submitted([]string{"--model", "sonnet", "--disallowedTools", "Bash", "Web", "--add-dir", filepath.Dir(file), "--system-prompt-file=" + file}, true)
	if diff := cmp.Diff([]string{"--add-dir=" + filepath.Dir(file), "--disallowedTools=Bash", "--disallowedTools=Web", "--model=sonnet", "--system-prompt=Be brief."}, got); diff != "" || err != nil {
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
		"--mcp-config cannot be used":                   {"--mcp-config={}"},
		"--settings cannot be used":                     {"--settings={}"},
		`"here": give the full path of a folder`:        {"--add-dir=here"},
		"--system-prompt-file cannot be used":           {"--system-prompt-file", file},
		"invalid argument":                              {"--max-turns=many"},
		"--output-format cannot be used for a session ": {"--output-format=text"},
	} {
		if got, err := launch.Submitted(args, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v, want %q", args, got, err, want)
		}
	}
	here, err := filepath.Abs("here")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := launch.Submitted([]string{"--add-dir=here"}, true); err != nil || !cmp.Equal(got, []string{"--add-dir=" + here}) {
		t.Errorf("a folder of this machine is %q, %v", got, err)
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

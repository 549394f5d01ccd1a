package launch_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/haftdev/haft/internal/headless/launch"
)

func TestSplitRules(t *testing.T) {
	for name, c := range map[string]struct {
		lists []string
		want  []string
	}{
		"commas separate":                        {[]string{"Read,Edit"}, []string{"Read", "Edit"}},
		"spaces separate":                        {[]string{"Read Edit"}, []string{"Read", "Edit"}},
		"both are part of a rule in parentheses": {[]string{"Bash(git log, git diff:*),Read"}, []string{"Bash(git log, git diff:*)", "Read"}},
		"nested parentheses belong to the rule":  {[]string{"Bash(echo (a), b) Read"}, []string{"Bash(echo (a), b)", "Read"}},
		"lists add up":                           {[]string{"Read", "Edit"}, []string{"Read", "Edit"}},
		"an open rule is kept whole":             {[]string{"Read,Bash(git log, x"}, []string{"Read", "Bash(git log, x"}},
		"nothing is nothing":                     {[]string{"", " , "}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, launch.SplitRules(c.lists)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAProgramMayBeNewer(t *testing.T) {
	flags := pflag.NewFlagSet("haft", pflag.ContinueOnError)
	flags.String("model", "", "")
	flags.Bool("verbose", false, "")
	flags.StringP("resume", "r", "", "")
	var warnings strings.Builder
	got := launch.Known([]string{"--verbose", "--model", "m", "--novel=1", "--newer", "value", "--newest", "--model=n", "-r", "id", "word"}, flags, &warnings)
	if diff := cmp.Diff([]string{"--verbose", "--model", "m", "--model=n", "-r", "id"}, got); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{"--novel is", "--newer is", "--newest is", `"word" is`} {
		if !strings.Contains(warnings.String(), want) {
			t.Errorf("no warning that %s ignored in:\n%s", want, &warnings)
		}
	}
}

// TestFlagsOfTheReference holds that every flag of Claude Code is known, with or without a
// value as there: it does what it does there, or has no effect and says so.
func TestFlagsOfTheReference(t *testing.T) {
	raw, err := os.ReadFile("testdata/reference-flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	var f launch.Flags
	fs := pflag.NewFlagSet("haft", pflag.ContinueOnError)
	f.Define(fs)
	// These are the command line's own; see package cli.
	for _, name := range []string{"help", "print", "verbose", "version"} {
		fs.Bool(name, false, "")
	}
	fs.String("worktree", "", "")
	fs.Lookup("worktree").NoOptDefVal = "."
	for line := range strings.Lines(string(raw)) {
		name, kind, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.HasPrefix(name, "--") {
			continue
		}
		flag := fs.Lookup(name[2:])
		if !ok || flag == nil {
			t.Errorf("%s is not known", name)
			continue
		}
		if flag.Name == "resume" || flag.Name == "debug" {
			continue // the command line lets them stand alone
		}
		if alone := flag.NoOptDefVal != ""; alone != (kind == "none" || kind == "optional") {
			t.Errorf("%s takes a value that is %s there; here it can stand alone: %v", name, kind, alone)
		}
	}
}

func TestFlagsWithoutEffectAreNamed(t *testing.T) {
	var warnings strings.Builder
	if _, err := launch.Parse([]string{"--input-format", "stream-json", "--output-format", "stream-json", "--ide", "--prompt-suggestions", "--file", "a:b"}, "v0", &warnings); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--ide has no effect: ", "--prompt-suggestions has no effect", "--file has no effect"} {
		if !strings.Contains(warnings.String(), want) {
			t.Errorf("nothing says %q:\n%s", want, &warnings)
		}
	}
}

func TestFilesAndAgentsOfFlags(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "prompt.md")
	if err := os.WriteFile(file, []byte("Be brief."), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := launch.Parse([]string{"--system-prompt-file", file, "--append-system-prompt-file", file, "--name", "mine", "--permission-mode", "manual",
		"--agents", `{"reviewer":{"description":"Reviews","prompt":"Review.","hooks":{"Stop":[]}}}`, "--restricted", "--disable-slash-commands", "--forward-subagent-text"}, "v0", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if o.Talk.System[0] != "Be brief." || o.Talk.AppendSystem != "Be brief." || o.Talk.Title != "mine" || o.Harness.Mode != "default" || !o.AgentTexts || !o.NoCommands {
		t.Errorf("%+v", o.Talk)
	}
	if len(o.Harness.Agents) != 1 || o.Harness.Agents[0].Name != "reviewer" || string(o.Harness.Agents[0].Hooks) != `{"Stop":[]}` || !slices.Contains(o.Harness.Disallowed, "Bash") || o.Harness.Sources == nil {
		t.Errorf("%+v", o.Harness)
	}
	for _, bad := range [][]string{
		{"--agents", "{"}, {"--agents", filepath.Join(dir, "none")}, {"--agents", `{"a":{}}`}, {"--system-prompt-file", filepath.Join(dir, "none")},
		{"--system-prompt-file", file, "--system-prompt", "x"}, {"--restricted", "--dangerously-skip-permissions"},
	} {
		if _, err := launch.Parse(bad, "v0", io.Discard); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

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

	"github.com/haftdev/haft/internal/front/headless/launch"
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
	for _, want := range []string{"flag --novel", "flag --newer", "flag --newest", `argument "word"`} {
		if !strings.Contains(warnings.String(), want) {
			t.Errorf("no warning that the %s is ignored in:\n%s", want, &warnings)
		}
	}
}

// TestListsOfAProgram: a program's prompts are not among its arguments, so that all words belong to the list before them.
func TestListsOfAProgram(t *testing.T) {
	flags := pflag.NewFlagSet("haft", pflag.ContinueOnError)
	new(launch.Flags).Define(flags)
	var warnings strings.Builder
	got := launch.Known([]string{"--mcp-config", "a.json", "b.json", "--betas", "x", "y", "--file", "a:1", "b:2", "--tools", "", "Read", "--model", "m", "word"}, flags, &warnings)
	want := []string{"--mcp-config", "a.json", "--mcp-config=b.json", "--betas", "x", "--betas=y", "--file", "a:1", "--file=b:2", "--tools", "", "--tools=Read", "--model", "m"}
	if diff := cmp.Diff(want, got); diff != "" || warnings.String() != "haft: ignoring the argument \"word\": prompts come from standard input\n" {
		t.Errorf("%s\n%s", diff, &warnings)
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
		"--agents", `{"reviewer":{"description":"Reviews","prompt":"Review.","hooks":{"Stop":[]}}}`, "--restricted", "--disable-slash-commands", "--forward-subagent-text", "--plugin-dir", "/a", "--plugin-dir-no-mcp=/b"}, "v0", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if o.Talk.System[0] != "Be brief." || o.Talk.AppendSystem != "Be brief." || o.Talk.Title != "mine" || o.Harness.Mode != "default" || !o.AgentTexts || !o.NoCommands {
		t.Errorf("%+v", o.Talk)
	}
	if !slices.Equal(o.Harness.Plugins, []string{"/a", "/b"}) || !slices.Equal(o.Harness.NoServersOf, []string{"/b"}) {
		t.Errorf("plugins %v, of which %v without servers", o.Harness.Plugins, o.Harness.NoServersOf)
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

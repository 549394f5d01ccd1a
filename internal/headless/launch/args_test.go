package launch_test

import (
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

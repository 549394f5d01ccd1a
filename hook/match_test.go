package hook_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/hook"
)

func TestUnmatched(t *testing.T) {
	names := []string{"Bash", "Edit", "NotebookEdit"}
	for name, c := range map[string]struct {
		matcher string
		want    []string
	}{
		"everything means all":                      {"*", nil},
		"no matcher means all":                      {"", nil},
		"names that there are":                      {"Bash|Edit", nil},
		"a name that there is not, among others":    {"Bsah|Edit", []string{"Bsah"}},
		"names between commas":                      {"Bash, Edit,Wirte", []string{"Wirte"}},
		"a comma in an expression":                  {"Ed{1,2}it.?", nil},
		"case counts":                               {"bash", []string{"bash"}},
		"a rule is about the tool that it names":    {"Bash(git *)", nil},
		"a rule for no tool":                        {"Bsah(git *)", []string{"Bsah(git *)"}},
		"an expression that fits one":               {"Notebook.*", nil},
		"an expression that fits none":              {"^Web.*", []string{"^Web.*"}},
		"what looks like a rule is one, or it fits": {"Notebook(Edit|Read)", nil},
		"what is not understood is told elsewhere":  {"[", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, hook.Unmatched(c.matcher, names)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

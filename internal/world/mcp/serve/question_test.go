package serve

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/tool"
)

func TestQuestionsShowAllThatMatters(t *testing.T) {
	ask := func(input string) string {
		return questionText(tool.Case{Tool: &tool.Tool{Name: "Bash"}, Call: &tool.Call{Input: json.RawMessage(input)}}, tool.Verdict{})
	}
	for _, tt := range []struct{ name, input, want string }{
		{"fields in their order", `{"file_path":"/a b","old_string":"x","replace_all":true}`, "Allow Bash?\n\nfile_path: /a b\nold_string: x\nreplace_all: true"},
		{"a comment does not swallow the next line", `{"command":"echo # fine\nrm -rf ~"}`, "Allow Bash?\n\ncommand: \n  echo # fine\n  rm -rf ~"},
		{"what hides and reorders is written out", `{"command":"ls \u202e\u200b\u001b[2K\r"}`, "Allow Bash?\n\ncommand: ls \\u{202e}\\u{200b}\\u{1b}[2K\\u{d}"},
		{"what is cut is counted", `{"command":"` + strings.Repeat("x", 1600) + `"}`, "Allow Bash?\n\ncommand: " + strings.Repeat("x", 1500) + "… (100 more characters not shown)"},
		{"an input that is no object", `[1]`, "Allow Bash?\n\ninput: [1]"},
		{"no input", `{}`, "Allow Bash?\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, ask(tt.input)); diff != "" {
				t.Errorf("question (-want +got):\n%s", diff)
			}
		})
	}
	if got := ask(`{"a":"` + strings.Repeat("x", 1400) + `","b":"` + strings.Repeat("x", 1400) + `","c":"` + strings.Repeat("x", 1400) + `","d":"` + strings.Repeat("x", 1400) + `","e":"` + strings.Repeat("x", 1400) + `"}`); !strings.HasSuffix(got, "more characters not shown)") {
		t.Errorf("a long question ends in %q", got[len(got)-60:])
	}
}

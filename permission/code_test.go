package permission_test

import (
	"encoding/json"
	"testing"

	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/shellrun"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/repl"
)

// TestCodeIsJudgedByItsText judges calls of the tool that evaluates code with the
// view that it has itself.
func TestCodeIsJudgedByItsText(t *testing.T) {
	evaluator := repl.New(shellrun.NewHost(nil), nil).REPL()
	for _, tt := range []struct {
		mode    permission.Mode
		allow   string
		deny    string
		code    string
		want    tool.Behavior
		suggest string
	}{
		{code: "1 + 1", want: tool.Ask, suggest: "REPL(1 + 1)"},
		{code: "2 * 3", want: tool.Ask}, // as a rule it would allow other code
		{code: "a = 1\nb = 2", want: tool.Ask},
		{code: "a  =  1", want: tool.Ask}, // rules know single blanks
		{allow: "REPL", code: "import os", want: tool.Allow},
		{allow: "REPL(1 + 1)", code: "1 + 1", want: tool.Allow},
		{allow: "REPL(1 + 1)", code: "1 + 1; import os", want: tool.Ask, suggest: "REPL(1 + 1; import os)"},
		{allow: "REPL(d[1:2])", code: "d[1:2]", want: tool.Allow},
		{allow: "REPL(language:python)", code: "import os", want: tool.Allow},
		{allow: "REPL", deny: "REPL(*subprocess*)", code: "a = 1\nimport subprocess\n", want: tool.Deny},
		{allow: "Bash", code: "1", want: tool.Ask, suggest: "REPL(1)"},
		{mode: permission.Auto, allow: "REPL", code: "1 + 1", want: tool.Ask, suggest: "REPL(1 + 1)"},
		{mode: permission.Auto, allow: "REPL(language:python)", code: "1 + 1", want: tool.Ask, suggest: "REPL(1 + 1)"},
		{mode: permission.Auto, allow: "REPL(1*)", code: "1 + 1", want: tool.Ask, suggest: "REPL(1 + 1)"},
		{mode: permission.Auto, allow: "REPL(1 + 1)", code: "1 + 1", want: tool.Allow},
		{mode: permission.AcceptEdits, code: "1", want: tool.Ask, suggest: "REPL(1)"},
	} {
		o := permission.Options{Guard: virtualGuard(t), Home: "/home/u", Mode: tt.mode}
		for text, b := range map[string]tool.Behavior{tt.allow: tool.Allow, tt.deny: tool.Deny} {
			if text != "" {
				o.Rules = append(o.Rules, permission.Rule{Text: text, Behavior: b, Origin: settings.Origin{Source: settings.User}})
			}
		}
		input, err := json.Marshal(repl.Input{Language: "python", Code: tt.code})
		if err != nil {
			t.Fatal(err)
		}
		c := tool.Case{Tool: &evaluator, Call: &tool.Call{Tool: "REPL", Input: input}}
		c.Own = evaluator.Permission(t.Context(), c.Call)
		v := permission.NewPolicy(o).Decide(c)
		suggested := ""
		if len(v.Suggestions) > 0 {
			suggested = v.Suggestions[0].Rule
		}
		if v.Behavior != tt.want || suggested != tt.suggest {
			t.Errorf("%s, allow %q, deny %q: %q is %v, suggested %q; want %v, %q", tt.mode, tt.allow, tt.deny, tt.code, v.Behavior, suggested, tt.want, tt.suggest)
		}
	}
}

package permission_test

import (
	"encoding/json"
	"testing"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/tools/repl"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
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

// TestCodeIsConfinedAsCommandsAre by the settings, and then runs unasked as they do.
func TestCodeIsConfinedAsCommandsAre(t *testing.T) {
	evaluator := repl.New(shellrun.NewHost(nil), nil).REPL()
	works, not := func() bool { return true }, func() bool { return false }
	for _, tt := range []struct {
		name    string
		mode    permission.Mode
		sandbox permission.Sandbox
		allow   string
		deny    string
		want    tool.Behavior
		within  tool.Confinement
	}{
		{name: "no setting", want: tool.Ask, within: tool.Unconfined},
		{name: "a rule", allow: "REPL", want: tool.Allow, within: tool.Unconfined},
		{name: "off", sandbox: permission.Sandbox{Off: true, Enabled: true, AutoAllow: true}, want: tool.Ask, within: tool.Unconfined},
		{name: "confined", sandbox: permission.Sandbox{Enabled: true, Works: works}, want: tool.Ask, within: tool.ProjectOnly},
		{name: "confined by a rule", sandbox: permission.Sandbox{Enabled: true, Works: works}, allow: "REPL", want: tool.Allow, within: tool.ProjectOnly},
		{name: "confined unasked", sandbox: permission.Sandbox{Enabled: true, AutoAllow: true, Works: works}, want: tool.Allow, within: tool.ProjectOnly},
		{name: "denied all the same", sandbox: permission.Sandbox{Enabled: true, AutoAllow: true, Works: works}, deny: "REPL(*1*)", want: tool.Deny},
		{name: "nothing confines", sandbox: permission.Sandbox{Enabled: true, AutoAllow: true, Works: not}, want: tool.Ask, within: tool.ProjectOnly},
		{name: "plan", mode: permission.Plan, sandbox: permission.Sandbox{Enabled: true, AutoAllow: true, Works: works}, want: tool.Deny},
	} {
		o := permission.Options{Guard: virtualGuard(t), Home: "/home/u", Mode: tt.mode, Sandbox: tt.sandbox}
		for text, b := range map[string]tool.Behavior{tt.allow: tool.Allow, tt.deny: tool.Deny} {
			if text != "" {
				o.Rules = append(o.Rules, permission.Rule{Text: text, Behavior: b, Origin: settings.Origin{Source: settings.User}})
			}
		}
		c := tool.Case{Tool: &evaluator, Call: &tool.Call{Tool: "REPL", Input: json.RawMessage(`{"language":"python","code":"1"}`)}}
		c.Own = evaluator.Permission(t.Context(), c.Call)
		if v := permission.NewPolicy(o).Decide(c); v.Behavior != tt.want || v.Confinement != tt.within {
			t.Errorf("%s: %v in %q, want %v in %q", tt.name, v.Behavior, v.Confinement, tt.want, tt.within)
		}
	}
}

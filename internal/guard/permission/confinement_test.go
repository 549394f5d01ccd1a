package permission_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// unsandboxed is a command whose call asks to run without the sandbox.
func unsandboxed(t *testing.T, command string) tool.Case {
	t.Helper()
	in, err := json.Marshal(map[string]any{"command": command, "dangerouslyDisableSandbox": true})
	if err != nil {
		t.Fatal(err)
	}
	return called("Bash", in)
}

// TestTheTableOfConfinements has every row of the table in docs/sandbox.md.
func TestTheTableOfConfinements(t *testing.T) {
	enabled := permission.Sandbox{Enabled: true}
	auto := permission.Sandbox{Enabled: true, AutoAllow: true}
	with := func(s permission.Sandbox, change func(*permission.Sandbox)) permission.Sandbox { change(&s); return s }
	for _, c := range []struct {
		name  string
		call  tool.Case
		box   permission.Sandbox
		mode  permission.Mode
		allow string
		want  tool.Confinement
		told  tool.Behavior
	}{
		{"only reads", bash("cat x | wc -l"), permission.Sandbox{}, permission.Default, "", tool.ReadOnly, tool.Allow},
		{"only reads, with a rule", bash("cat x"), permission.Sandbox{}, permission.Default, "Bash(cat:*)", tool.ReadOnly, tool.Allow},
		{"only reads, writing is confined too", bash("cat x"), enabled, permission.Default, "", tool.ReadOnly, tool.Allow},
		{"only reads, edits are accepted", bash("cat x"), permission.Sandbox{}, permission.AcceptEdits, "", tool.ReadOnly, tool.Allow},
		{"only reads, plan", bash("cat x"), permission.Sandbox{}, permission.Plan, "", tool.ReadOnly, tool.Allow},
		{"only reads, never asks", bash("cat x"), permission.Sandbox{}, permission.DontAsk, "", tool.ReadOnly, tool.Allow},
		{"only reads, bypass", bash("cat x"), permission.Sandbox{}, permission.Bypass, "", tool.ReadOnly, tool.Allow},
		{"only reads, about the machine", bash("ps aux | grep go"), enabled, permission.Default, "", tool.Unconfined, tool.Allow},
		{"only reads, off", bash("cat x"), permission.Sandbox{Off: true}, permission.Default, "", tool.Unconfined, tool.Allow},
		{"a rule allows it", bash("make"), permission.Sandbox{}, permission.Default, "Bash(make:*)", tool.Unconfined, tool.Allow},
		{"a rule allows it, enabled", bash("make"), enabled, permission.Default, "Bash(make:*)", tool.ProjectOnly, tool.Allow},
		{"edits are accepted, enabled", bash("mkdir new"), enabled, permission.AcceptEdits, "", tool.ProjectOnly, tool.Allow},
		{"the user is asked", bash("make"), permission.Sandbox{}, permission.Default, "", tool.Unconfined, tool.Ask},
		{"the user is asked, enabled", bash("make"), enabled, permission.Default, "", tool.ProjectOnly, tool.Ask},
		{"bypass", bash("make"), permission.Sandbox{}, permission.Bypass, "", tool.Unconfined, tool.Allow},
		{"bypass, enabled", bash("make"), enabled, permission.Bypass, "", tool.ProjectOnly, tool.Allow},
		{"allowed because it is confined", bash("make"), auto, permission.Default, "", tool.ProjectOnly, tool.Allow},
		{"not where nothing confines", bash("make"), with(auto, func(s *permission.Sandbox) { s.Works = func() bool { return false } }), permission.Default, "", tool.ProjectOnly, tool.Ask},
		{"not what may lose much", bash("rm -rf /"), auto, permission.Default, "", tool.ProjectOnly, tool.Ask},
		{"not when it is off", bash("make"), with(auto, func(s *permission.Sandbox) { s.Off = true }), permission.Default, "", tool.Unconfined, tool.Ask},
		{"not in plan mode", bash("make"), auto, permission.Plan, "", tool.ProjectOnly, tool.Ask},
		{"excluded", bash("docker build ."), with(auto, func(s *permission.Sandbox) { s.Excluded = []string{"docker"} }), permission.Default, "", tool.Unconfined, tool.Ask},
		{"excluded by a pattern", bash("npm publish"), with(auto, func(s *permission.Sandbox) { s.Excluded = []string{"npm publish:*"} }), permission.Default, "", tool.Unconfined, tool.Ask},
		{"another one of the program", bash("npm test"), with(auto, func(s *permission.Sandbox) { s.Excluded = []string{"npm publish:*"} }), permission.Default, "", tool.ProjectOnly, tool.Allow},
		{"excluded beside another", bash("docker build . && make"), with(auto, func(s *permission.Sandbox) { s.Excluded = []string{"docker"} }), permission.Default, "", tool.ProjectOnly, tool.Allow},
		{"excluded, and only reads", bash("git log"), with(enabled, func(s *permission.Sandbox) { s.Excluded = []string{"git"} }), permission.Default, "", tool.Unconfined, tool.Allow},
		{"excluded by a name that another begins with", bash("dockerx build"), with(auto, func(s *permission.Sandbox) { s.Excluded = []string{"docker"} }), permission.Default, "", tool.ProjectOnly, tool.Allow},
		{"asks to be free", unsandboxed(t, "make"), auto, permission.Default, "", tool.Unconfined, tool.Ask},
		{"asks to be free, and only reads", unsandboxed(t, "cat x"), permission.Sandbox{}, permission.Default, "", tool.Unconfined, tool.Ask},
		{"asks to be free, and a rule allows it", unsandboxed(t, "make"), auto, permission.Default, "Bash(make:*)", tool.Unconfined, tool.Allow},
		{"asks to be free, in vain", unsandboxed(t, "make"), with(auto, func(s *permission.Sandbox) { s.Enforced = true }), permission.Default, "", tool.ProjectOnly, tool.Allow},
		{"asks to be free, in vain, and only reads", unsandboxed(t, "cat x"), permission.Sandbox{Enforced: true}, permission.Default, "", tool.ReadOnly, tool.Allow},
		{"no command", called("Read", json.RawMessage(`{"file_path":"/home/u/p/x"}`)), auto, permission.Default, "", "", tool.Ask},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := permission.Options{Guard: virtualGuard(t), Home: "/home/u", Mode: c.mode, Sandbox: c.box}
			if c.allow != "" {
				o.Rules = []permission.Rule{{Text: c.allow, Behavior: tool.Allow, Origin: settings.Origin{Source: settings.User}}}
			}
			d := permission.NewPolicy(o).Decide(c.call)
			if d.Confinement != c.want || d.Behavior != c.told {
				t.Errorf("%s confined to %q (%s), want %s to %q", d.Behavior, d.Confinement, d.Reason, c.told, c.want)
			}
		})
	}
}

// A command that may run unasked because it is confined to the project must not see what
// rules hide. If that cannot be ensured, the user is asked.
func TestAConfinedCommandRunsUnaskedOnlyWithoutWhatRulesHide(t *testing.T) {
	p := newRealPlace(t, "secrets/new.txt", "kept/tracked.txt", "sub/own.txt")
	p.shell(t, "git init -q . && git add kept && git -c user.name=a -c user.email=a@b commit -qm one && cd sub && git init -q . && git add own.txt")
	g, err := guard.New(&guard.Options{Roots: []string{p.dir}, Home: p.home})
	if err != nil {
		t.Fatal(err)
	}
	yes, no := func() bool { return true }, func() bool { return false }
	for _, c := range []struct {
		name  string
		rule  permission.Rule
		boxed func() bool
		want  string // what is hidden, or why the user is asked
	}{
		{"nothing to hide", rule(tool.Deny, "Read(./none/**)"), no, ""},
		{"denied", rule(tool.Deny, "Read(./secrets/**)"), yes, p.dir + "/secrets"},
		{"asked about", rule(tool.Ask, "Read(./secrets/*)"), yes, p.dir + "/secrets/new.txt"},
		{"a weaker tier", rule(tool.Deny, "Read(./secrets/**)"), no, "a rule keeps " + p.dir + "/secrets from being read, and the sandbox of this machine cannot hide it"},
		{"tracked", rule(tool.Deny, "Read(./kept/**)"), yes, "a rule keeps " + p.dir + "/kept/tracked.txt from being read, and git has a copy of it"},
		{"tracked elsewhere", rule(tool.Deny, "Read(own.txt)"), yes, "a rule keeps " + p.dir + "/sub/own.txt from being read, and git has a copy of it"},
		{"not to be found", rule(tool.Deny, "Read(//**/x)"), yes, "the rule Read(//**/x) may cover files anywhere on this machine"},
	} {
		box := permission.Sandbox{Enabled: true, AutoAllow: true, Works: yes, Boxed: c.boxed}
		d := permission.NewPolicy(permission.Options{Rules: []permission.Rule{c.rule}, Guard: g, Home: p.home, Sandbox: box}).Decide(bash("./build"))
		got := strings.Join(d.Hidden, " ")
		if d.Behavior == tool.Ask {
			got = d.Reason
		}
		if got != c.want {
			t.Errorf("%s: %s %q, want %q", c.name, d.Behavior, got, c.want)
		}
	}
}

// What is hidden from a command is what was there when it started. So a command that runs
// unasked must not outlive its call while a rule keeps files from being read, existing or not.
func TestAConfinedCommandDoesNotOutliveItsCallWhereRulesHide(t *testing.T) {
	yes := func() bool { return true }
	background := called("Bash", json.RawMessage(`{"command":"./serve","run_in_background":true}`))
	code := called("REPL", json.RawMessage(`{"language":"python","code":"1"}`))
	for _, c := range []struct {
		name       string
		rule       permission.Rule
		call       tool.Case
		want       tool.Behavior
		foreground bool
	}{
		{"foreground", rule(tool.Deny, "Read(./later/**)"), bash("./serve"), tool.Allow, true},
		{"foreground, a rule that asks", rule(tool.Ask, "Read(*.key)"), bash("./serve"), tool.Allow, true},
		{"background", rule(tool.Deny, "Read(./later/**)"), background, tool.Ask, false},
		{"background, a rule that asks", rule(tool.Ask, "Read(*.key)"), background, tool.Ask, false},
		{"background, a rule about edits", rule(tool.Deny, "Edit(./later/**)"), background, tool.Allow, false},
		{"background, a rule that allows", rule(tool.Allow, "Read(./later/**)"), background, tool.Allow, false},
		{"background, allowed by a rule", rule(tool.Allow, "Bash(./serve:*)"), background, tool.Allow, false},
		{"code, whose process stays", rule(tool.Deny, "Read(./later/**)"), code, tool.Ask, false},
		{"code", rule(tool.Deny, "Edit(./later/**)"), code, tool.Allow, false},
	} {
		for mode, want := range map[permission.Mode]tool.Behavior{permission.Default: c.want, permission.DontAsk: c.want} {
			if mode == permission.DontAsk && want == tool.Ask {
				want = tool.Deny
			}
			box := permission.Sandbox{Enabled: true, AutoAllow: true, Works: yes, Boxed: yes, Previews: yes}
			d := permission.NewPolicy(permission.Options{Mode: mode, Rules: []permission.Rule{c.rule}, Guard: virtualGuard(t), Home: "/home/u", Sandbox: box}).Decide(c.call)
			if d.Behavior != want || d.Foreground != c.foreground || want == tool.Ask && d.Confinement == tool.Previewed {
				t.Errorf("%s in %s mode: %s in %q (%s), foreground %t", c.name, mode, d.Behavior, d.Confinement, d.Reason, d.Foreground)
			}
		}
	}
}

func TestTheQuestionSaysWhatASandboxRefused(t *testing.T) {
	box := permission.Sandbox{Enabled: true, AutoAllow: true, Refused: func(agent, command string) string {
		if agent == "" && command == "npm ci" {
			return "reach registry.example.org:443"
		}
		return ""
	}}
	p := permission.NewPolicy(permission.Options{Guard: virtualGuard(t), Home: "/home/u", Sandbox: box})
	for command, want := range map[string]string{
		"npm ci": "it asks to run without the sandbox, in which it wanted to reach registry.example.org:443",
		"make":   "it asks to run without the sandbox",
		"cat x":  "it asks to run without the sandbox",
	} {
		if d := p.Decide(unsandboxed(t, command)); d.Behavior != tool.Ask || d.Reason != want {
			t.Errorf("%s: %s %q, want to ask: %q", command, d.Behavior, d.Reason, want)
		}
	}
}

func TestWhatConfinedCommandsReach(t *testing.T) {
	rule := func(text string, b tool.Behavior) permission.Rule {
		return permission.Rule{Text: text, Behavior: b, Origin: settings.Origin{Source: settings.User}}
	}
	p := permission.NewPolicy(permission.Options{
		Guard: virtualGuard(t), Home: "/home/u",
		Rules: []permission.Rule{rule("WebFetch(domain:go.dev)", tool.Allow), rule("WebFetch(domain:evil.example.com)", tool.Deny), rule("WebFetch", tool.Allow)},
		Sandbox: permission.Sandbox{
			Domains: []string{"example.com", "*.example.com", "bücher.example", "192.0.2.1"}, DeniedDomains: []string{"bad.example.com"},
		},
	})
	if problems := p.Problems(); len(problems) > 0 {
		t.Fatal(problems)
	}
	for host, want := range map[string]string{
		"example.com": "", "EXAMPLE.com": "", "example.com.": "", "a.b.example.com": "", "go.dev": "", "xn--bcher-kva.example": "", "192.0.2.1": "",
		"bad.example.com":       "bad.example.com is denied",
		"evil.example.com":      "evil.example.com is denied",
		"notexample.com":        "no rule allows notexample.com",
		"example.com.evil":      "no rule allows example.com.evil",
		"sub.go.dev":            "no rule allows sub.go.dev",
		"::1":                   "no rule allows ::1",
		"a b":                   "is not a valid host name",
		"":                      "is not a valid host name",
		"example.com/@x":        "is not a valid host name",
		"x@example.com":         "is not a valid host name",
		"example.com#.evil.org": "is not a valid host name",
		"example.com?.evil.org": "is not a valid host name",
	} {
		err := p.Reach(host)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Reach(%q) = %v, want %q", host, err, want)
		}
	}
	for _, name := range []string{"https://example.com", "exa mple", ""} {
		bad := permission.NewPolicy(permission.Options{Guard: virtualGuard(t), Sandbox: permission.Sandbox{Domains: []string{name}}})
		if len(bad.Problems()) == 0 || bad.Reach("other.org") == nil {
			t.Errorf("the domain %q is taken without a word", name)
		}
	}
}

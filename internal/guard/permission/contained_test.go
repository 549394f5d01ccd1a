package permission_test

import (
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// TestChecksRunUnaskedOnlyWhereTheyAreConfined: a check that may run code of the project
// is allowed because of the box, and for no other reason.
func TestChecksRunUnaskedOnlyWhereTheyAreConfined(t *testing.T) {
	checks := []string{"make -n", "make -n test", "tsc --noEmit", "ruff check .", "ruff format --check", "mypy src", "pip list", "pip show requests", "pip freeze", "man ls", "yarn --version", "make -n | head -5", "timeout 60 make -n", "cd src && pip list", "make -n && git status"}
	yes := func() bool { return true }
	no := func() bool { return false }
	tests := []struct {
		name  string
		files []string
		opts  permission.Options
		want  tool.Behavior
	}{
		{"with a box", nil, permission.Options{Sandbox: permission.Sandbox{Boxed: yes}}, tool.Allow},
		{"edits accepted, with a box", nil, permission.Options{Mode: permission.AcceptEdits, Sandbox: permission.Sandbox{Boxed: yes}}, tool.Allow},
		{"nothing known", nil, permission.Options{}, tool.Ask},
		{"a weaker tier", nil, permission.Options{Sandbox: permission.Sandbox{Boxed: no, Works: yes}}, tool.Ask},
		{"switched off", nil, permission.Options{Sandbox: permission.Sandbox{Boxed: yes, Off: true}}, tool.Ask},
		{"plan mode", nil, permission.Options{Mode: permission.Plan, Sandbox: permission.Sandbox{Boxed: yes}}, tool.Ask},
		{"dontAsk without a box", nil, permission.Options{Mode: permission.DontAsk}, tool.Deny},
		{"a rule hides a file, and the kernel holds it", nil, permission.Options{Rules: []permission.Rule{rule(tool.Deny, "Read(./x)")}, Sandbox: permission.Sandbox{Boxed: yes}}, tool.Allow},
		{"a rule hides a file, and nothing holds it", nil, permission.Options{Rules: []permission.Rule{rule(tool.Deny, "Read(./x)")}, Sandbox: permission.Sandbox{Boxed: yes, Holds: no}}, tool.Ask},
		{"a rule asks about a file", nil, permission.Options{Rules: []permission.Rule{rule(tool.Ask, "Read(./x)")}, Sandbox: permission.Sandbox{Boxed: yes}}, tool.Ask},
		{"a secret in the project", []string{"src/.env"}, permission.Options{Sandbox: permission.Sandbox{Boxed: yes}}, tool.Ask},
		{"a rule requires asking", nil, permission.Options{Rules: []permission.Rule{rule(tool.Ask, "Bash")}, Sandbox: permission.Sandbox{Boxed: yes}}, tool.Ask},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newRealPlace(t, append(tt.files, "Makefile")...)
			g, err := guard.New(&guard.Options{Roots: []string{p.dir}, Home: p.home})
			if err != nil {
				t.Fatal(err)
			}
			tt.opts.Guard, tt.opts.Home = g, p.home
			policy := permission.NewPolicy(tt.opts)
			for _, command := range checks {
				d := policy.Decide(bash(command))
				if d.Behavior != tt.want {
					t.Errorf("%q: %s (%s), want %s", command, d.Behavior, d.Reason, tt.want)
				}
				if d.Behavior == tool.Allow && d.Confinement != tool.ReadOnly {
					t.Errorf("%q runs unasked with the confinement %q", command, d.Confinement)
				}
			}
			for _, command := range []string{"make", "make -n > x", "make -n; touch x", "pip install x", "go test ./...", "make -n & rm x", "X=1 make -n", "npx tsc --noEmit", "make -n -f evil"} {
				if d := policy.Decide(bash(command)); d.Behavior == tool.Allow && tt.opts.Mode != permission.AcceptEdits {
					t.Errorf("%q is allowed: %s", command, d.Reason)
				}
			}
		})
	}
	// A rule that allows it is as before: the command is not confined.
	p := newRealPlace(t, "Makefile")
	if d := p.decide(t, permission.Default, "Bash", bashInput("make -n"), rule(tool.Allow, "Bash(make:*)")); d.Behavior != tool.Allow || d.Confinement != tool.Unconfined {
		t.Errorf("with a rule: %s, %q", d.Behavior, d.Confinement)
	}
}

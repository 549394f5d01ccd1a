package permission_test

import (
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// policyAt returns a policy for commands that start in a folder of the project.
func (p realPlace) policyAt(t *testing.T, dir string, rules ...permission.Rule) *permission.Policy {
	t.Helper()
	g, err := guard.New(&guard.Options{Roots: []string{p.dir}, Home: p.home})
	if err != nil {
		t.Fatal(err)
	}
	return permission.NewPolicy(permission.Options{Rules: rules, Guard: g, Home: p.home, Dir: func(string) string { return filepath.Join(p.dir, dir) }})
}

// Rules apply from the folder that the session started in: a command that changes the folder
// neither lifts what they deny nor widens what they allow.
func TestRulesDoNotFollowTheFolder(t *testing.T) {
	p := newRealPlace(t, "secrets/x", "sub/secrets/x", "sub/open", ".env", "sub/.env", "open", "src/in", "sub/src/out")
	policy := p.policyAt(t, "sub", rule(tool.Deny, "Read(./secrets/x)"), rule(tool.Ask, "Read(.env)"), rule(tool.Allow, "Edit(./src/**)"), rule(tool.Allow, "Edit(./one)"), rule(tool.Allow, "Edit(any)"))
	for command, want := range map[string]tool.Behavior{
		"cat ../secrets/x":              tool.Deny,
		"cd .. && cat secrets/x":        tool.Deny,
		"cat " + p.dir + "/secrets/x":   tool.Deny,
		"sh -c 'head -c9 ../secrets/x'": tool.Deny,
		"cat ../.env":                   tool.Ask,
		"cat .env":                      tool.Ask,
		"grep -r TOKEN ..":              tool.Ask,
		"cat open ../open secrets/x":    tool.Allow,
		"echo x > ../src/in":            tool.Allow,
		"echo x > src/out":              tool.Ask,
		"echo x > ../one":               tool.Allow,
		"echo x > one":                  tool.Ask,
		"echo x > any":                  tool.Allow,
	} {
		if d := policy.Decide(bash(command)); d.Behavior != want {
			t.Errorf("%s: %s (%s), want %s", command, d.Behavior, d.Reason, want)
		}
	}
	if policy.MayRead(p.dir+"/secrets/x") || !policy.MayRead(p.dir+"/sub/secrets/x") {
		t.Error("a search is judged differently from a command")
	}
}

// What a rule says about a file, it says about the file's versions in worktrees. What it
// allows, it allows there only to those who work there.
func TestRulesApplyInWorktrees(t *testing.T) {
	p := newRealPlace(t, "conf/key", "src/x", ".worktrees/w/conf/key", ".worktrees/w/src/x", ".worktrees/w/open")
	rules := []permission.Rule{rule(tool.Deny, "Read(./conf/key)"), {Text: "Read(/src/secret)", Behavior: tool.Deny}, rule(tool.Allow, "Edit(./src/*)")}
	for _, c := range []struct {
		dir, command string
		want         tool.Behavior
	}{
		{"", "cat .worktrees/w/conf/key", tool.Deny},
		{".worktrees/w", "cat conf/key", tool.Deny},
		{".worktrees/w", "cat src/secret", tool.Deny},
		{".worktrees/w/conf", "cat key", tool.Deny},
		{".worktrees/w", "grep -r x conf", tool.Ask},
		{"", "grep -r x .worktrees/w", tool.Ask},
		{"", "grep -r x .worktrees", tool.Ask},
		{".worktrees/w", "cat open", tool.Allow},
		{".worktrees/w", "echo x > src/x", tool.Allow},
		{"", "echo x > .worktrees/w/src/x", tool.Ask},
	} {
		if d := p.policyAt(t, c.dir, rules...).Decide(bash(c.command)); d.Behavior != c.want {
			t.Errorf("in %s, %s: %s (%s), want %s", c.dir, c.command, d.Behavior, d.Reason, c.want)
		}
	}
	policy := p.policyAt(t, "", rules...)
	if policy.MaySearch(p.dir + "/.worktrees/w/conf/key") {
		t.Error("a search shows a file that a rule denies reading")
	}
	if hidden, err := policy.Hidden(); err != nil || len(hidden) != 2 || hidden[0] != p.dir+"/.worktrees/w/conf/key" {
		t.Errorf("hidden are %v, %v", hidden, err)
	}
}

package permission_test

import (
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/workspace/guard"
	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/tool"
)

// A command that changed the folder has not lifted what a rule denies from the folder that
// the session began in; and the rule applies from the new folder too.
func TestChangingTheFolderLiftsNoDenial(t *testing.T) {
	p := newRealPlace(t, "secrets/x", "sub/secrets/x", "sub/open", ".env", "sub/.env", "open")
	g, err := guard.New(&guard.Options{Roots: []string{p.dir}, Home: p.home})
	if err != nil {
		t.Fatal(err)
	}
	policy := permission.NewPolicy(permission.Options{
		Rules: []permission.Rule{rule(tool.Deny, "Read(./secrets/x)"), rule(tool.Ask, "Read(.env)")}, Guard: g, Home: p.home,
		Dir: func(string) string { return filepath.Join(p.dir, "sub") },
	})
	for command, want := range map[string]tool.Behavior{
		"cat ../secrets/x":              tool.Deny,
		"cat secrets/x":                 tool.Deny,
		"cd .. && cat secrets/x":        tool.Deny,
		"cat " + p.dir + "/secrets/x":   tool.Deny,
		"sh -c 'head -c9 ../secrets/x'": tool.Deny,
		"cat ../.env":                   tool.Ask,
		"cat .env":                      tool.Ask,
		"grep -r TOKEN ..":              tool.Ask,
		"cat open ../open":              tool.Allow,
	} {
		if d := policy.Decide(bash(command)); d.Behavior != want {
			t.Errorf("%s: %s (%s), want %s", command, d.Behavior, d.Reason, want)
		}
	}
	hidden, err := policy.Hidden("")
	if want := p.dir + "/secrets/x"; err != nil || len(hidden) != 4 || hidden[1] != want {
		t.Errorf("hidden are %v, %v; want 4 with %s", hidden, err, want)
	}
}

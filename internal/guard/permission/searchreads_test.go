package permission_test

import (
	"testing"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/tool"
)

func TestASearchDoesNotGoWhereARuleHidesFiles(t *testing.T) {
	place := newRealPlace(t, "secrets/x", "src/.env", "docs/a.md", "README.md", "../other/y")
	place.shell(t, "ln -s ../secrets docs/link")
	for _, c := range []struct {
		rule, command string
		asks          bool
	}{
		{"Read(./secrets/**)", "grep -r TOKEN .", true},
		{"Read(./secrets/**)", "grep -rn TOKEN", true},
		{"Read(./secrets/**)", "grep --recursive TOKEN .", true},
		{"Read(./secrets/**)", "rg TOKEN", true},
		{"Read(./secrets/**)", "rg -uuu .", true},
		{"Read(.env)", "grep -r TOKEN src", true}, // a name without a slash is at any depth
		{"Read(.env)", "grep -r TOKEN docs", false},
		{"Read(./secrets/**)", "grep -R TOKEN docs", true}, // by the link
		{"Read(./secrets/**)", "git grep TOKEN", true},
		{"Read(/" + place.dir + "/secrets/**)", "cd " + place.dir + " && grep -R TOKEN .", true},
		{"Read(/" + place.dir + "/../other/**)", "grep -r TOKEN src/a.go docs/a.md", false},
		{"Read(./secrets/**)", "grep TOKEN README.md", false},
		{"Read(./secrets/**)", "ls -la", false},
		{"Edit(./secrets/**)", "grep -r TOKEN secrets", false},
	} {
		for _, b := range []tool.Behavior{tool.Deny, tool.Ask} {
			if d := place.decide(t, permission.Default, "Bash", bashInput(c.command), rule(b, c.rule)); (d.Behavior == tool.Allow) == c.asks {
				t.Errorf("%s %s: %q is %s: %s", b, c.rule, c.command, d.Behavior, d.Reason)
			}
		}
	}
}

func TestARuleForEveryCommandCoversRedirections(t *testing.T) {
	g := virtualGuard(t)
	for rule, want := range map[string]tool.Behavior{"Bash": tool.Allow, "Bash(echo:*)": tool.Ask} {
		p := permission.NewPolicy(permission.Options{Guard: g, Home: "/home/u", Rules: []permission.Rule{
			{Text: rule, Behavior: tool.Allow, Origin: settings.Origin{Source: settings.User}},
		}})
		if d := p.Decide(bash("echo hi > b.txt")); d.Behavior != want {
			t.Errorf("%s: %s: %s", rule, d.Behavior, d.Reason)
		}
		if d := p.Decide(bash("echo hi > ~/.bashrc")); d.Behavior == tool.Allow {
			t.Errorf("%s: a protected file may be written: %s", rule, d.Reason)
		}
	}
}

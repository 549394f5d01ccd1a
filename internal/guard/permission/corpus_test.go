package permission_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// A ruleCase is one line of testdata/rule.jsonl. The project is /home/u/proj and
// the home /home/u, neither of which needs to exist.
type ruleCase struct {
	Rules   map[string][]string `json:"rules"`
	Mode    permission.Mode     `json:"mode"`
	Tool    string              `json:"tool"`
	Input   json.RawMessage     `json:"input"`
	Expect  string              `json:"expect"`
	Why     string              `json:"why"`
	Source  map[string]string   `json:"source"`
	Trusted *bool               `json:"trusted"`
}

func (c *ruleCase) policy(t testing.TB, g *guard.Guard) *permission.Policy {
	t.Helper()
	var rules []permission.Rule
	for name, b := range map[string]tool.Behavior{"allow": tool.Allow, "ask": tool.Ask, "deny": tool.Deny} {
		source := settings.Project
		if s := c.Source[name]; s != "" {
			var err error
			if source, err = settings.ParseSource(s); err != nil {
				t.Fatal(err)
			}
		}
		for _, text := range c.Rules[name] {
			rules = append(rules, permission.Rule{Text: text, Behavior: b, Origin: settings.Origin{Source: source}})
		}
	}
	return permission.NewPolicy(permission.Options{
		Mode: c.Mode, Rules: rules, Trusted: c.Trusted == nil || *c.Trusted, Guard: g, Home: "/home/u",
	})
}

func virtualGuard(t testing.TB) *guard.Guard {
	t.Helper()
	g, err := guard.New(&guard.Options{Roots: []string{"/home/u/proj"}, Home: "/home/u", FS: permission.Imagined("/home/u/proj", "/home/u")})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestTheRuleCorpus(t *testing.T) {
	file, err := os.Open("testdata/rule.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	g := virtualGuard(t)
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		var c ruleCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		d := c.policy(t, g).Decide(called(c.Tool, c.Input))
		if got := d.Behavior.String(); got != c.Expect {
			t.Errorf("line %d: %s %s in mode %s with %v: %s (%s %s), want %s: %s", n, c.Tool, c.Input, c.Mode, c.Rules, got, d.Reason, d.Rule, c.Expect, c.Why)
		}
	}
}

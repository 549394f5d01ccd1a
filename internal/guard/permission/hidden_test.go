package permission_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

func TestHiddenListsWhatRulesKeepFromBeingRead(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, home, elsewhere := filepath.Join(base, "project"), filepath.Join(base, "home"), filepath.Join(base, "elsewhere")
	var many []string
	for i := range 1001 {
		many = append(many, fmt.Sprintf("project/many/%d.txt", i))
	}
	for _, name := range append(many, "project/src/.env", "project/.ENV", "project/secrets/a/b", "project/src/x.key", "home/.ssh/id", "elsewhere/.env") {
		path := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"out": elsewhere, "loop": ".", "gone": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	g, err := guard.New(&guard.Options{Roots: []string{dir}, Home: home})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ rules, want, fails string }{
		{rules: "deny Read(./.env)", want: "project/.ENV project/out/.env project/src/.env"},
		{rules: "deny Read(/SECRETS/**)", want: "project/secrets"},
		{rules: "ask Read(src/*.key)\ndeny Read(~/.ssh/**)", want: "home/.ssh project/src/x.key"},
		{rules: "deny Edit(./.env)\nallow Read(src/**)\ndeny Read"},
		{rules: "deny Read(./missing/**)"},
		{rules: "deny Read(//" + strings.TrimPrefix(base, "/") + "/**)", fails: "the whole folder " + dir},
		{rules: "deny Read(*.txt)", fails: "the rule Read(*.txt) covers too many files"},
		{rules: "deny Read(//**/.env)", fails: "anywhere on this machine"},
	} {
		opts := permission.Options{Guard: g, Home: home}
		for line := range strings.Lines(c.rules) {
			behaviour, text, _ := strings.Cut(strings.TrimSpace(line), " ")
			b := map[string]tool.Behavior{"allow": tool.Allow, "ask": tool.Ask, "deny": tool.Deny}[behaviour]
			opts.Rules = append(opts.Rules, permission.Rule{Text: text, Behavior: b})
		}
		found, err := permission.NewPolicy(opts).Hidden()
		for i := range found {
			found[i] = strings.TrimPrefix(found[i], base+"/")
		}
		if got := strings.Join(found, " "); c.fails == "" && (err != nil || got != c.want) {
			t.Errorf("%s: %s, %v", c.rules, got, err)
		}
		if c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
			t.Errorf("%s: %v, %v", c.rules, found, err)
		}
	}
}

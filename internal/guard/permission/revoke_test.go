package permission_test

import (
	"testing"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

func TestRulesAreTakenBackExceptAnAdministrators(t *testing.T) {
	g, err := guard.New(&guard.Options{Roots: []string{t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	rule := func(s settings.Source) permission.Rule {
		return permission.Rule{Text: "Read", Behavior: tool.Deny, Origin: settings.Origin{Source: s}}
	}
	denied := func(e *permission.Engine) bool {
		return e.Policy().Decide(called("Read", []byte(`{"file_path":"a"}`))).Behavior == tool.Deny
	}
	for source, stays := range map[settings.Source]bool{settings.Session: false, settings.User: false, settings.Managed: true} {
		e := permission.NewEngine(permission.Options{Rules: []permission.Rule{rule(source)}, Guard: g, Trusted: true})
		if !denied(e) {
			t.Fatalf("a rule of %s does not deny", source)
		}
		e.Revoke(rule(settings.Session))
		if denied(e) != stays {
			t.Errorf("after it was taken back, a rule of %s denies: %v", source, denied(e))
		}
	}
}

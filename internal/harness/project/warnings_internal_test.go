package project

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/config/settings"
)

// What an administrator denies is not left out because it cannot be read, whatever flags a
// user gives.
func TestManagedRulesThatCannotBeReadStopASession(t *testing.T) {
	for text, bad := range map[string]bool{
		`{"permissions": {"deny": ["Bash"]}}`: false,
		`{"permissions": {"deny": "Bash"}}`:   true,
		`{"permissions": ["Bash"]}`:           true,
		`{"permissions": {"deny": ["Bash"]}`:  true,
		`{"cleanupPeriodDays": "many"}`:       false,
	} {
		path := filepath.Join(t.TempDir(), "managed.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, list := range []settings.Options{{Managed: []string{path}, User: []string{}}, {Managed: []string{}, User: []string{path}}} {
			s, err := settings.Load(&list)
			if err != nil {
				t.Fatal(err)
			}
			if err := managedIntact(s); (err != nil) != (bad && len(list.Managed) > 0) {
				t.Errorf("%s, managed by %v: %v", text, list.Managed, err)
			}
		}
	}
}

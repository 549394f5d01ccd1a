package permission_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/tool"
)

// A link that a background command swaps may lead to one file when the tool looks at it, and to
// another when the rules are applied. The tool uses the first, so the rules must have seen it.
func TestALinkSwappedWhileItIsJudgedIsDenied(t *testing.T) {
	p := newRealPlace(t, "conf/key.txt", "a.txt")
	link := filepath.Join(p.dir, "l")
	if err := os.Symlink("a.txt", link); err != nil {
		t.Fatal(err)
	}
	for name, input := range map[string]map[string]string{
		"Read": {"file_path": link}, "Edit": {"file_path": link, "old_string": "x", "new_string": "y"}, "Write": {"file_path": link, "content": "y"},
	} {
		raw, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		for _, mode := range []permission.Mode{permission.Default, permission.AcceptEdits, permission.Bypass} {
			for _, rules := range [][]permission.Rule{{rule(tool.Deny, "Read(./conf/key.txt)")}, nil} { // a hook may have looked, too
				c := called(name, raw)
				c.Own.Real = filepath.Join(p.dir, "conf/key.txt")
				if d := p.decideCase(t, mode, c, rules...); d.Behavior != tool.Deny || !strings.Contains(d.Message, "Nothing was read or written") {
					t.Errorf("%s in %s mode: %s (%s)", name, mode, d.Behavior, d.Reason)
				}
				c.Own.Real = filepath.Join(p.dir, "a.txt")
				if d := p.decideCase(t, mode, c, rules...); d.Behavior == tool.Deny {
					t.Errorf("%s in %s mode of a link that stays: %s (%s)", name, mode, d.Behavior, d.Reason)
				}
			}
		}
	}
}

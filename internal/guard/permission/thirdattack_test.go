package permission_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/tool"
)

// TestThirdAttack judges commands that were written to have an effect, in a project with hostile files and links. Those
// with the label "asks" are allowed in no mode, and "edits" only where edits are accepted; "reads" were run for real
// and had no effect. Some of these name programs that are not installed everywhere, and are then asked about.
func TestThirdAttack(t *testing.T) {
	p := newRealPlace(t, "a.txt", "b.txt", "d.json", ".env", "evil.sh", "bin/ls", "node_modules/.bin/jq", "s.sed", "x.awk", "opts", "findargs", "sortargs", "rgrc", "Makefile", "src/m.py", "src/main.go", "gitcfg", ".gitattributes", "package.json", "sub/x", ".git/HEAD", ".git/config")
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "id_rsa"), []byte("KEY\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"notes.md": filepath.Join(outside, "id_rsa"), "homelink": outside} {
		if err := os.Symlink(target, filepath.Join(p.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(p.dir, ".git/config"), []byte("[core]\n\tbare = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open("testdata/thirdattack.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all := 0
	for lines := bufio.NewScanner(file); lines.Scan(); all++ {
		var c struct{ Cmd, Label string }
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		for _, mode := range modesFor(all, permission.Plan, permission.AcceptEdits) {
			if c.Label == "reads" || c.Label == "edits" && mode == permission.AcceptEdits {
				continue
			}
			if d := p.decide(t, mode, "Bash", bashInput(c.Cmd)); d.Behavior == tool.Allow {
				t.Errorf("mode %s: %q runs unasked: %s", mode, c.Cmd, d.Reason)
			}
		}
	}
	if all < 300 {
		t.Errorf("only %d commands were judged", all)
	}
}

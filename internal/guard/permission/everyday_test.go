package permission_test

import (
	"os"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/tool"
)

// TestEverydayCommands judges the commands of everyday work in a session that accepts
// edits and has two rules: fewer than one in ten of those that should run is asked
// about, and none of those that must be asked about runs.
func TestEverydayCommands(t *testing.T) {
	p := newRealPlace(t, "main.go", "go.mod", "README.md", "a.txt", "b.txt", "data.csv", "server.log", "package.json", "script.sh", "src/b.go", "docs/x.md", "backup/x", "conf.yaml", "notes.txt", "my.patch", "payload/.mcp.json", ".git/HEAD", ".git/config", ".env", "evil", "old/x", "build/x")
	if err := os.WriteFile(p.dir+"/.git/config", []byte("[core]\n\tbare = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rules := []permission.Rule{rule(tool.Allow, "Bash(git:*)"), rule(tool.Allow, "Bash(go:*)")}
	data, err := os.ReadFile("testdata/everyday.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, asked := 0, 0
	for line := range strings.Lines(string(data)) {
		label, command, ok := strings.Cut(strings.TrimRight(line, "\n"), " ")
		if !ok || label == "#" {
			continue
		}
		command = strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(command, `\\`, "\x00"), `\n`, "\n"), "\x00", `\`)
		d := p.decide(t, permission.AcceptEdits, "Bash", bashInput(command), rules...)
		switch {
		case label == "?" && d.Behavior == tool.Allow:
			t.Errorf("%q runs unasked: %s %s", command, d.Reason, d.Rule)
		case label == "+":
			if all++; d.Behavior != tool.Allow {
				asked++
				t.Logf("asked: %q: %s", command, d.Reason)
			}
		}
	}
	t.Logf("%d of %d everyday commands are asked about", asked, all)
	if 10*asked >= all {
		t.Errorf("%d of %d everyday commands are asked about, want fewer than one in ten", asked, all)
	}
}
